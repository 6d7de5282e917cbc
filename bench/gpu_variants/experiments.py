"""The list of all experiments."""
from adam import adam_experiment
from columns import columns_experiments
from elementwise import elementwise_experiments, misaligned_experiments
from launches import launch_experiment
from layer_norm import layer_norm_experiment, layer_norm_grad_experiment
from rows import rows_experiments
from softmax import softmax_experiments
from totals import total_experiments
from transposition import transpose_experiment


def experiments(sms, small):
    """All experiments, the most useful ones first."""
    sums = columns_experiments(small)
    norms = [layer_norm_grad_experiment(sms, small), layer_norm_experiment(sms, small)]
    rows, totals, soft = rows_experiments(sms, small), total_experiments(sms, small), softmax_experiments(sms, small)
    maps = elementwise_experiments(sms, small)
    return [maps[0], sums[0], norms[0], soft[1], totals[0], transpose_experiment(small), rows[0], soft[0], norms[1],
            adam_experiment(sms, small), totals[1], launch_experiment(sms, small), *soft[2:], *rows[1:], sums[1],
            *misaligned_experiments(small), *maps[1:]]


def selected(options, sms):
    """The experiments that --only names."""
    chosen = experiments(sms, options.small)
    if options.only:
        chosen = [e for e in chosen if any(word in e.name for word in options.only.split(","))]
    return chosen
