"""cygrad: PyTorch's autograd as a small, typed library on NumPy arrays; this file only collects the public names."""
