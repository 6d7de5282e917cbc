"""The representation in notebooks: a variable as the tree of its graph, a function with its graph and kernels. The HTML
needs no scripts and no other files; every text of the program is escaped."""

from . import _croton

MAX_NODES = 200

_STYLE = "font-family: monospace; line-height: 1.4"
_QUIET = "color: gray"
_CODE = "overflow-x: auto; margin: 0.3em 0 0.6em 1.5em"


def escape(text):
    import html  # imported here: its tables of names take longer to load than the whole package
    return html.escape(str(text))


def _quiet(text):
    return f' <span style="{_QUIET}">{escape(text)}</span>' if text else ""


def _box(content):
    return f'<div class="croton" style="{_STYLE}">{content}</div>'


def rows_of(x, limit=MAX_NODES):
    """(rows, complete) of a graph, outputs first: (depth, kind, name, type, line, repeated) for each node. The inputs
    of a `repeated` node are listed at its first row. After `limit` rows the rest is omitted, and complete is False."""
    rows, seen, pending = [], set(), [(0, x)]
    while pending:
        depth, node = pending.pop()
        if len(rows) == limit:
            return rows, False
        application = _croton.application(node)
        repeated = application is not None and node in seen
        rows.append((depth, _kind(node, application), node.name, node.type, _croton.line_of(node), repeated))
        seen.add(node)
        if application and not repeated:
            pending += [(depth + 1, x) for x in reversed(application[1])]
    return rows, True


def _kind(node, application):
    if application:
        return application[0]
    if node.is_constant:
        return f"constant {_croton.constant_value(node)}" if node.ndim == 0 else "constant"
    return "shared" if _croton.is_shared(node) else "input"


def tree(rows, complete=True):
    """Rows of rows_of as nested lists."""
    parts, depth = ['<ul style="margin: 0">'], 0
    for i, (level, kind, name, type, line, repeated) in enumerate(rows):
        if level > depth:
            parts.append("<ul>")
        elif i > 0:
            parts.append("</li>" + "</ul></li>" * (depth - level))
        depth = level
        named = f" <i>{escape(name)}</i>" if name else ""
        parts.append(f"<li><b>{escape(kind)}</b>{named} <code>{escape(type)}</code>{_quiet(line)}"
                     f"{_quiet('(as above)') if repeated else ''}")
    parts.append("</li>" + "</ul></li>" * depth if rows else "")
    parts.append("</ul>")
    if not complete:
        parts.append(f"<p>The first {len(rows)} nodes; croton.debugprint shows all.</p>")
    return "".join(parts)


def variable_html(x):
    """A variable as the tree of its graph."""
    return _box(tree(*rows_of(x)))


def results_of(graph):
    """(outputs, updates) of the text of a rewritten graph: [(name, type)] and [(variable, name, type)]."""
    types, outputs, updates = {}, [], []
    for line in graph.splitlines():
        code = line.split("  # ")[0]
        if code.startswith("return "):
            outputs = [(name, types.get(name, "")) for name in code.removeprefix("return ").split(", ")]
        elif code.startswith("update "):
            variable, _, value = code.removeprefix("update ").partition(" = ")
            updates.append((variable, value, types.get(value, "")))
        elif ": " in code:
            name, _, rest = code.partition(": ")
            types[name] = rest.split(" = ")[0]
    return outputs, updates


def _row(title, items):
    return f"<li><b>{title}</b> {', '.join(items)}</li>" if items else ""


def kernel(name, target, schedule, lines, source):
    """A kernel with its text collapsed."""
    return (f"<details><summary><b>{escape(name)}</b> {escape(target)} <code>{escape(schedule)}</code>"
            f'{_quiet(", ".join(lines))}</summary><pre style="{_CODE}">{escape(source)}</pre></details>')


def function_html(f):
    """A function: inputs and outputs, its graph after rewriting, and its kernels, whose texts can be expanded."""
    graph = f.graph().rstrip()
    outputs, updates = results_of(graph)
    inputs = [f"{escape(x.name or '_')} <code>{escape(x.type)}</code>" for x in f.inputs]
    kernels = [kernel(k.name, k.target, k.schedule, k.lines, k.source) for k in f.kernels()]
    return _box(
        f"<b>{escape(f.name)}</b><ul>"
        + _row("inputs", inputs)
        + _row("outputs", [f"{escape(name)} <code>{escape(type)}</code>" for name, type in outputs])
        + _row("updates", [f"{escape(x)} = {escape(name)} <code>{escape(type)}</code>" for x, name, type in updates])
        + f'</ul><details open><summary>graph</summary><pre style="{_CODE}">{escape(graph)}</pre></details>'
        + f"<p>{len(kernels)} kernel{'' if len(kernels) == 1 else 's'}</p>" + "".join(kernels))
