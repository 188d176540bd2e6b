"""Transformers: encoders and decoders of layers of attention (Vaswani et al. 2017)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import funcgrad.torch as torch
from funcgrad.torch._tensor import Tensor
from funcgrad.torch.nn import functional as F
from funcgrad.torch.nn import init
from funcgrad.torch.nn.functional.attention import as_bias
from funcgrad.torch.nn.modules.attention import MultiheadAttention
from funcgrad.torch.nn.modules.container import ModuleList
from funcgrad.torch.nn.modules.linear import Linear
from funcgrad.torch.nn.modules.module import Module
from funcgrad.torch.nn.modules.normalization import Dropout, LayerNorm

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip

Activation = str | Callable[[Tensor], Tensor]
Masks = tuple[Tensor | None, Tensor | None, bool]  # of pairs, of keys, whether it is causal


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    found: Callable[[Tensor], Tensor] = getattr(F, given)
    return found


def _causal_mask(size: int, dtype: Any = None) -> Tensor:
    found: Tensor = torch.triu(torch.full((size, size), -math.inf, dtype=dtype), diagonal=1)
    return found


def _is_causal(mask: Tensor | None, hint: bool | None, size: int | None) -> bool:
    """What is said of a mask; if nothing is, whether it is the causal one."""
    if hint is not None or mask is None:
        return hint is True
    wanted = _causal_mask(mask.size(-2) if size is None else size, mask.dtype)
    return mask.shape == wanted.shape and bool((mask == wanted).all())


def _length(x: Tensor, batch_first: bool) -> int | None:
    if x.dim() == 2:
        return int(x.size(0))
    return int(x.size(1 if batch_first else 0)) if x.dim() == 3 else None


class _Layer(Module):
    """What both kinds of layers share: attentions, a network of two layers, and their norms."""

    attentions: tuple[str, ...]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        for name in self.attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **made
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **made)
        self.norm_first = norm_first
        count = len(self.attentions) + 1
        for k in range(1, count + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, **made))
        for k in range(1, count + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attend(self, k: int, x: Tensor, memory: Tensor | None, masks: Masks) -> Tensor:
        mask, padding, causal = masks
        keys = x if memory is None else memory
        attention = getattr(self, self.attentions[k])
        y = attention(x, keys, keys, attn_mask=mask, key_padding_mask=padding, is_causal=causal,
                      need_weights=False)[0]  # fmt: skip
        found: Tensor = getattr(self, f"dropout{k + 1}")(y)
        return found

    def _feed(self, x: Tensor) -> Tensor:
        last = getattr(self, f"dropout{len(self.attentions) + 1}")
        found: Tensor = last(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return found

    def _through(self, x: Tensor, blocks: list[Callable[[Tensor], Tensor]]) -> Tensor:
        """The blocks one after the other, each added to what it got, with its norm."""
        for k, block in enumerate(blocks, 1):
            norm = getattr(self, f"norm{k}")
            x = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return x


class TransformerEncoderLayer(_Layer):
    """Attention to itself, then a network of two layers; each is added and brought to a norm.

    Parameters
    ----------
    d_model, nhead : int
        The features, and the heads of the attention.
    dim_feedforward : int, optional
    dropout : float, optional
    activation : {"relu", "gelu"} or callable, optional
    layer_norm_eps : float, optional
    batch_first : bool, optional
    norm_first : bool, optional
        Whether the norm comes before each block instead of after it.
    bias : bool, optional
    """

    attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layer of `src`."""
        padding = as_bias(src_key_padding_mask, "src_key_padding_mask", src.dtype)
        masks = (as_bias(src_mask, "src_mask", src.dtype), padding, is_causal)
        return self._through(src, [lambda x: self._attend(0, x, None, masks), self._feed])


class TransformerDecoderLayer(_Layer):
    """Attention to itself, attention to what an encoder gave, then a network of two layers.

    The parameters are those of `TransformerEncoderLayer`.
    """

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layer of `tgt`, which sees `memory`."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        return self._through(
            tgt,
            [
                lambda x: self._attend(0, x, None, own),
                lambda x: self._attend(1, x, memory, other),
                self._feed,
            ],
        )


class TransformerEncoder(Module):
    """Copies of an encoder layer one after the other.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
    num_layers : int
    norm : Module, optional
        What comes at the end.
    enable_nested_tensor, mask_check : bool, optional
        Accepted; they choose between ways of computing in PyTorch.

    Examples
    --------
    >>> import funcgrad.torch as torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, 2)(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """All layers of `src`."""
        padding = as_bias(src_key_padding_mask, "src_key_padding_mask", src.dtype)
        mask = as_bias(mask, "mask", src.dtype)
        first = self.layers[0].self_attn.batch_first
        causal = _is_causal(mask, is_causal, _length(src, first))
        for layer in self.layers:
            src = layer(src, mask, padding, causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer one after the other."""

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """All layers of `tgt`, which see `memory`."""
        first = self.layers[0].self_attn.batch_first
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, first))
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                        memory_key_padding_mask, causal, memory_is_causal)  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder that sees what the encoder gave.

    Parameters
    ----------
    d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward : int, optional
    dropout, activation, layer_norm_eps, batch_first, norm_first, bias : optional
        As of `TransformerEncoderLayer`.
    custom_encoder, custom_decoder : Module, optional
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                 norm_first, bias)  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **made)

        if custom_encoder is None:
            one = TransformerEncoderLayer(*layer, **made)
            custom_encoder = TransformerEncoder(one, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            other = TransformerDecoderLayer(*layer, **made)
            custom_decoder = TransformerDecoder(other, num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask with which each place sees only those up to itself: minus infinity above."""
        return _causal_mask(sz, dtype)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder of `tgt`, which sees the encoder of `src`."""
        batched = src.dim() == 3
        place = 0 if self.batch_first else 1
        if batched and src.size(place) != tgt.size(place):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        found: Tensor = self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip
        return found
