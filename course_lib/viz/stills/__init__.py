"""Pictures that stand still: a run at chosen moments, for paper and for pages without scripts."""
