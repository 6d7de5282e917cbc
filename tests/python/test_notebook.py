"""The display of variables and functions in notebooks."""

import html.parser
import subprocess
import sys

import numpy as np
import pytest

import croton
import croton.tensor as T
from croton import notebook

HOSTILE = '<script>alert("1")</script>&amp;'
EMPTY = {"br", "hr", "img"}


class Page(html.parser.HTMLParser):
    """Checks that every tag is closed, and keeps tags, attributes, and each text with its enclosing tags."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag not in EMPTY
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += [name for name, _ in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((data, tuple(self.open)))

    def depth_of(self, text):
        """The number of lists around the first element with this text."""
        return next(around.count("ul") for found, around in self.texts if found == text)

    def count(self, text):
        return sum(found == text for found, _ in self.texts)


def is_inert(page):
    return not {"script", "iframe", "link", "img"} & set(page.tags) and not [a for a in page.attributes
                                                                             if a.startswith("on") or a in ("src", "href")]


def test_a_variable_is_a_tree_with_names_types_and_lines():
    x = T.dmatrix("x")
    y = T.exp(x)
    y.name = "grown"
    page = Page((y / y.sum(axis=0))._repr_html_())
    assert page.depth_of("true_divide") == 1
    assert page.depth_of("exp") == page.depth_of("grown") == 2
    assert page.depth_of("input") == page.depth_of("x") == 3
    assert page.depth_of("sum") == 2
    assert page.count("exp") == 2 and page.count("(as above)") == 1 and page.count("input") == 1
    assert page.count("f64[?, ?]") >= 3
    assert [text for text, _ in page.texts if text.startswith("test_notebook.py:")]
    assert is_inert(page)


def test_inputs_shared_variables_and_constants_are_told_apart():
    w = croton.shared(np.zeros(3), "w")
    page = Page((T.dvector("x") * w + 2.5)._repr_html_())
    assert page.count("shared") == 1 and page.count("input") == 1
    assert [text for text, _ in page.texts if text.startswith("constant") and "2.5" in text]


def test_names_are_escaped():
    x = T.dvector(HOSTILE)
    for shown in (x, x + 1, croton.function([x], x + 1, name=HOSTILE)):
        page = Page(shown._repr_html_())
        assert is_inert(page)
        assert "<script" not in shown._repr_html_()
    assert Page(x._repr_html_()).count(HOSTILE) == 1


def test_every_text_of_a_kernel_is_escaped():
    page = notebook.kernel(*[HOSTILE] * 3, [HOSTILE, HOSTILE], HOSTILE)
    assert is_inert(Page(page))
    texts = [text for text, _ in Page(page).texts]
    assert texts.count(HOSTILE) == 3 and f"{HOSTILE}, {HOSTILE}" in "".join(texts)


def test_big_graphs_are_cut_at_a_stated_number():
    x = y = T.dscalar("x")
    for _ in range(5000):
        y = T.sin(y) + x
    page = Page(y._repr_html_())
    assert page.tags.count("li") == notebook.MAX_NODES == 200
    assert page.count("The first 200 nodes; croton.debugprint shows all.") == 1
    rows, complete = notebook.rows_of(T.sin(x), limit=2)
    assert complete and [row[0] for row in rows] == [0, 1]
    assert notebook.rows_of(T.sin(x), limit=1)[1] is False


@pytest.mark.parametrize("depths", [[0], [0, 1, 1], [0, 1, 2, 3, 1, 2, 0], [0, 1, 2, 3, 4]])
def test_lists_nest_as_deep_as_rows_say(depths):
    rows = [(depth, f"op{i}", None, "f32[]", "", False) for i, depth in enumerate(depths)]
    page = Page(notebook.tree(rows))
    assert [page.depth_of(f"op{i}") - 1 for i in range(len(depths))] == depths


def test_a_function_shows_inputs_outputs_graph_and_folded_kernels():
    x, w = T.fvector("x"), croton.shared(np.ones(3, np.float32), "w")
    f = croton.function([x], [T.exp(x) * w, x.sum()], updates=[(w, w * 2)], name="step")
    page = Page(f._repr_html_())
    kernels = f.kernels()
    assert page.count("step") == 1 and page.tags.count("details") == 1 + len(kernels)
    for title in ("inputs", "outputs", "updates", "graph"):
        assert page.count(title) == 1
    for kernel in kernels:
        assert page.count(kernel.name) >= 1 and page.count(kernel.schedule) >= 1
        assert page.count(kernel.source) == 1
        assert [around for text, around in page.texts if text == kernel.source][0][-2:] == ("details", "pre")
    assert page.count(f.graph().rstrip()) == 1
    assert is_inert(page)


def test_results_are_read_from_the_text_of_a_graph():
    graph = "x: f32[n] = input\n%0: f32[n] = exp(x)  # a: b = c.py:1\n%1: f32[] = sum(%0)\nreturn %0, %1\nupdate w = %1\n"
    assert notebook.results_of(graph) == ([("%0", "f32[n]"), ("%1", "f32[]")], [("w", "%1", "f32[]")])
    assert notebook.results_of("") == ([], [])


def test_variables_and_functions_of_croton_theano_are_shown():
    program = """
import croton.theano as theano, croton.theano.tensor as T
x = T.dmatrix("x")
w = theano.shared(3.0, "w")
print(T.exp(x * w)._repr_html_())
print(theano.function([x], T.exp(x), updates=[(w, w + 1)])._repr_html_().replace("\\n", " "))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    variable, function = (Page(line) for line in done.stdout.splitlines())
    assert variable.count("exp") == variable.count("shared") == variable.count("w") == 1
    assert function.count("inputs") == function.count("outputs") == function.count("updates") == 1
    assert "details" in function.tags
