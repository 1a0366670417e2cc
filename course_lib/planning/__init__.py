"""Where to compute what: graphs, placements, predictions, and the choice among ways to split.

Read ``graph`` and ``executor`` first (a placement makes the messages), then ``prediction`` (when
will it be done?) and ``planner`` (which placement is done first?).
"""
