import support

support.start()
import rnnslu  # noqa: E402

rnnslu.main(
    dict(fold=3, data="atis", lr=0.0970806646812754, verbose=1, decay=True, win=7, nhidden=50, seed=345, emb_dimension=20,
         nepochs=1, savemodel=False)
)
