"""The checks and the order of work within one process."""
import dataclasses
import time

import numpy as np

from experiment import FLOAT
from lab import Memory, Reader


class Bits:
    """Copies of the results of the first variant with the fixed tree."""

    def __init__(self, lab, memory, outputs):
        self.lab, self.memory, self.outputs, self.kept = lab, memory, outputs, None

    def differing(self):
        """The number of words of the results that differ from the kept ones. The first time it keeps them: None."""
        gpu, places = self.lab.gpu, self.memory.places[0]
        if self.kept is None:
            self.kept = {}
            for output in self.outputs:
                self.kept[output.got] = self.memory.take(self.memory.taken, FLOAT * output.count)
                gpu.copy(self.kept[output.got], places[output.got], FLOAT * output.count)
            gpu.wait()
            return None
        return sum(
            self.lab.compare(places[output.got], self.kept[output.got], output.count, 1)[1] for output in self.outputs)


class Session:
    """All experiments of one process, up to the limit."""

    def __init__(self, lab, log, options):
        self.lab, self.log, self.options = lab, log, options

    def out_of_time(self):
        """Whether the time limit is over."""
        return time.time() > self.options.end

    def experiment(self, experiment, skipped):
        """Measures the variants of an experiment whose (name, number) is not in `skipped`."""
        variants = [(i, v) for i, v in enumerate(experiment.variants) if (experiment.name, i) not in skipped]
        if not variants or self.out_of_time():
            return
        memory = Memory(self.lab, experiment)
        try:
            read, places = Reader(self.lab, memory), memory.places[0]
            for step in experiment.wanted:
                self.lab.do(dataclasses.replace(step, args=[memory.argument(value, places) for value in step.args]))
            self.lab.gpu.wait()
            trees = experiment.tree(read) if experiment.tree else []
            line = {
                "kind": "experiment", "experiment": experiment.name, "about": experiment.about,
                "moved": experiment.moved, "sets": experiment.sets}
            if experiment.sampled:
                line["error of the expected results"] = experiment.sampled(read)
            if experiment.moved:
                line["copy"] = self.lab.copy_rate(experiment.moved // 2 // 16 * 16, experiment.sets)
            self.log(line)
            bits = Bits(self.lab, memory, experiment.outputs)
            for number, variant in variants:
                if self.out_of_time():
                    self.log({"kind": "stopped", "experiment": experiment.name, "variant": number})
                    break
                self.log({"kind": "begins", "experiment": experiment.name, "variant": number, "facets": variant.facets})
                self.log({"kind": "result", **self.variant(experiment, memory, read, number, variant, bits, trees)})
            else:
                number, variant = variants[0]
                self.log({"kind": "again", **self.variant(experiment, memory, read, number, variant, bits, trees)})
        finally:
            memory.release()

    def variant(self, experiment, memory, read, number, variant, bits, trees):
        """Checks and times one variant; returns its line of the log."""
        line = {"experiment": experiment.name, "variant": number, "facets": variant.facets,
                "kernels": list(dict.fromkeys(step.kernel for step in variant.steps))}
        try:
            first = variant.steps[0]
            for step in variant.steps:
                about = self.lab.gpu.about(self.lab.gpu.function(self.lab.compiler, step.kernel), step.block,
                                           step.shared)
                if step is first:
                    line |= {"grid": first.grid, "block": first.block, "shared": first.shared, **about}
            runs = [self.run(variant, memory, places) for places in memory.places]
            line |= self.checked(experiment, memory, read, variant, runs[0], bits, trees)
            if line["status"] == "right":
                replayed = variant.facets.get("replayed", False)
                if replayed:
                    runs = [self.lab.gpu.record(run) for run in runs]
                times = self.lab.time(runs, experiment.graph and not replayed)
                line |= {
                    "seconds": times.median / variant.runs, "low": times.low / variant.runs,
                    "high": times.high / variant.runs}
                if experiment.moved:
                    line["rate"] = experiment.moved / times.median
        except Exception as error:  # whatever it is, the others go on
            line |= {"status": "failed", "why": str(error)[:2000]}
            try:
                self.lab.gpu.wait()
            except Exception:  # an error of the device itself, after which this process can do nothing
                self.log({"kind": "result", **line})
                raise
        finally:
            memory.drop_extra()
        return line

    def run(self, variant, memory, places):
        """A function that enqueues a variant on one set of buffers."""
        unique = {id(step): self.lab.bound(step, [memory.argument(value, places) for value in step.args])
                  for step in variant.steps}
        launches = [unique[id(step)] for step in variant.steps]

        def run():
            for launch in launches:
                launch()
        return run

    def checked(self, experiment, memory, read, variant, run, bits, trees):
        """Runs a variant once and compares its results; returns a part of its line."""
        if variant.facets.get("finish") == "not finished" or not experiment.outputs:
            run()
            self.lab.gpu.wait()
            return {"status": "right"}
        places = memory.places[0]
        for name in experiment.renewed:
            memory.fill(name, places[name])
        for output in experiment.outputs:
            if output.got not in experiment.renewed:
                memory.poison(output.got, places[output.got])
        run()
        self.lab.gpu.wait()
        line, wrong = {"error": 0.0}, []
        for output in experiment.outputs:
            error, different = self.lab.compare(places[output.got], places[output.want], output.count, output.floor)
            line["error"] = max(line["error"], error)
            if different if output.tolerance == 0 else not error <= output.tolerance:
                wrong.append(f"{output.got}: error {error:.3g}, {different} of {output.count} differ")
        if variant.facets.get("tree") == "fixed":
            for name, start, values in trees:
                got = read(name, start, np.size(values))
                if np.any(got != np.ravel(values)):
                    wrong.append(f"{name}: not the order of additions, from element {start} on")
            arithmetic = {"exp": "exp_croton", "divide": True, "rounds": 3}  # others give other bits
            if all(variant.facets.get(facet, value) == value for facet, value in arithmetic.items()):
                differing = bits.differing()
                line["differs from the first"] = differing
                if differing:
                    wrong.append(f"{differing} words differ from the first variant of the fixed tree")
        return {**line, "status": "wrong", "why": "; ".join(wrong)} if wrong else {**line, "status": "right"}
