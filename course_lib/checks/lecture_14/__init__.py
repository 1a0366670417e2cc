"""The checks of exercise set 14: the rule of ASHA, a trial lost or doubled, replicas of stages."""
