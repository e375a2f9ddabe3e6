"""*Incorporating Residual and Normalization Layers into Analysis of Masked Language Models*."""
