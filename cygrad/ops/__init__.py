"""Operations that are compositions of others: their gradients are those of their parts. One file a family."""
