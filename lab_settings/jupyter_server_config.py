"""JupyterLab's settings that need a reason; the plain ones are in the .json files beside this."""

import zmq

c = get_config()  # type: ignore[name-defined] # noqa: F821 (JupyterLab provides it)

# One Ctrl-C ends JupyterLab. It would ask "Shut down this Jupyter server?" and go on without an
# answer within five seconds.
c.ServerApp.answer_yes = True

# Encrypt what JupyterLab and its kernels say to each other, where the kernel can: other users of
# this computer cannot listen, and no kernel has to warn that they could.
if zmq.has("curve"):
    c.KernelManager.transport_encryption = "auto"

# No pings between server and browser: both are on this computer, where a lost connection is
# noticed without them. Jupyter Server states its intervals in milliseconds and waits for three
# of them, Tornado reads seconds and warns of a wait longer than one.
c.ServerApp.tornado_settings = {"ws_ping_interval": 0}
