"""Where to compute what: graphs, placements, predictions, and the choice among ways to split.

Read ``graph`` and ``executor`` first (a placement makes the messages), then ``prediction`` (when
will it be done?) and ``planner`` (which placement is done first?). ``cut`` shows what crosses, for
a graph or for the step of a chain (``chain_graph``). ``branches`` makes a graph of a branching
net's step, ``train_branches`` takes it. ``inference`` answers with replicas or with ``stages``.
``numbered`` is for small graphs whose nodes have numbers. ``strategy`` chooses among data, model
and hybrid parallelism for a net of which only the sizes are known (``sized_steps``).

Nothing is imported here, so that who executes a graph need not load what trains one.
"""
