"""The context of every tier."""
import dataclasses

from processes import Log, Process, run
from programs import Programs
from records import Records


@dataclasses.dataclass
class Context:
    programs: Programs
    records: Records
    log: Log
    options: object  # of the command line
    gpus: list       # output of nvidia-smi at the start
    flags: str       # for Croton, in every program: the kernel cache, named tools, --flags
    folder: str      # for files of programs; removed at the end

    @property
    def device(self):
        return self.options.device

    def env(self, *flags, **variables):
        return self.programs.with_flags(self.flags, *flags, **variables)

    def start(self, name, command, env, cwd=None):
        return Process(name, command, env, cwd, self.log)

    def run(self, name, command, limit, env, cwd=None):
        return run(name, command, limit, env, cwd, self.log)

    def say(self, text):
        print(f"    {text}", flush=True)

    def result(self, tier, name, status, seconds=None, **fields):
        """Records a result, and prints it on the terminal unless it passed; items not reached are printed at the end of
        the tier."""
        self.records.result(tier, name, status, seconds, **fields)
        if status not in ("passed", "not reached"):
            self.say(f"{status}: {name}{': ' + fields['why'] if fields.get('why') else ''}"[:400])
        return status
