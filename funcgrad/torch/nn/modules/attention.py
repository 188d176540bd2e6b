"""`MultiheadAttention`: several attentions side by side, each with its part of the features."""

from __future__ import annotations

from typing import Any

from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn import init
from funcgrad.torch.nn.modules.linear import Linear
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.parameter import Parameter
from funcgrad.torch.operations.creation import empty

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` under the name that PyTorch shows."""


class MultiheadAttention(Module):
    """Several attentions side by side (Vaswani et al. 2017).

    Parameters
    ----------
    embed_dim, num_heads : int
        The features, and into how many parts they are split.
    dropout : float, optional
        The share of weights set to zero in training.
    bias : bool, optional
    add_bias_kv, add_zero_attn : bool, optional
        Whether there is one more key and value, which is learnt, or zero.
    kdim, vdim : int, optional
        The features of keys and values, if they are others.
    batch_first : bool, optional
        Whether inputs are (batch, steps, features) instead of (steps, batch, features).

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> attention = torch.nn.MultiheadAttention(8, 2)
    >>> x = torch.randn(5, 3, 8)
    >>> y, weights = attention(x, x, x)
    >>> y.shape, weights.shape
    (torch.Size([5, 3, 8]), torch.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first = dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape: int) -> Parameter:
            made: Parameter = Parameter(empty(shape, device=device, dtype=dtype))
            return made

        same = self._qkv_same_embed_dim
        for name, extent in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            made = None if same else parameter(embed_dim, extent)
            self.register_parameter(f"{name}_proj_weight", made)
        self.register_parameter(
            "in_proj_weight", parameter(3 * embed_dim, embed_dim) if same else None
        )
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        for name in ("bias_k", "bias_v"):
            setattr(self, name, parameter(1, 1, embed_dim) if add_bias_kv else None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for name in ("bias_k", "bias_v"):
            if getattr(self, name) is not None:
                init.xavier_normal_(getattr(self, name))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The weighted values, and with `need_weights` the weights, the mean of all heads."""
        turned = self.batch_first and query.dim() == 3
        if turned:
            # what is one tensor stays one
            first = query.transpose(0, 1)
            second = first if key is query else key.transpose(0, 1)
            third = second if value is key else value.transpose(0, 1)
            query, key, value = first, second, third
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )  # fmt: skip
        return (out.transpose(0, 1) if turned else out), weights
