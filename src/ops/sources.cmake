set(SOURCES axes.cpp contract.cpp diagonal.cpp elementwise.cpp gather.cpp generate.cpp indexing.cpp join.cpp leaf.cpp
  nnet.cpp ranges.cpp reduce.cpp registry.cpp scatter.cpp subtensor.cpp transfer.cpp view.cpp)
