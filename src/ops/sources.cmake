set(SOURCES batch_rules.cpp contract.cpp einsum.cpp elementwise.cpp generate.cpp gradient_marks.cpp leaf.cpp nnet.cpp products.cpp reduce.cpp registry.cpp transfer.cpp view.cpp)
