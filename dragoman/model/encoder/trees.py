"""Structured self-attention: each source word attends to its parents in all dependency trees."""

from typing import final

import torch
from torch import Tensor, nn

from dragoman.model.linear import Linear
from dragoman.model.shapes import Bool, Float


@final
class Trees(nn.Module):
    """`h'_j = W [h_j; sum_i p(i is the parent of j) h_i] + b` (Kim et al. 2017, "syntactic attention").

    p is the marginal of a distribution over non-projective trees with one word as the root:

        p(tree) ~ exp(sum of theta_ij over its edges i -> j + the rho_j of its root)
        theta_ij = tanh(v^T tanh(U h_i + V h_j + d)),  rho_j = tanh(w . h_j + a)

    The paper outputs the concatenation itself; here W keeps the state size. The end symbol counts as a word.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.parent = Linear(size, size, bias=False)
        self.child = Linear(size, size)
        self.vector = Linear(size, 1, bias=False)
        self.root = Linear(size, 1)
        self.join = Linear(2 * size, size)

    def forward(self, states: Float[Tensor, "B S H"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B S H"]:
        pairs = torch.tanh(self.parent(states).unsqueeze(2) + self.child(states).unsqueeze(1))  # (B, S, S, H)
        edges, roots = (torch.tanh(scores).squeeze(-1) for scores in (self.vector(pairs), self.root(states)))
        parents = marginals(edges, roots, mask).to(states.dtype).transpose(1, 2) @ states
        joined: Tensor = self.join(torch.cat([states, parents], -1))
        return joined * mask.unsqueeze(-1)


def marginals(
    edges: Float[Tensor, "B S S"], roots: Float[Tensor, "B S"], mask: Bool[Tensor, "B S"]
) -> Float[Tensor, "B S S"]:
    """`p(i is the parent of j)` at [i, j], by the matrix-tree theorem (Koo et al. 2007, section 3.2).

    Each column sums to 1 minus the probability that its word is the root. Padding has 0.
    """
    first = torch.arange(mask.size(1), device=mask.device) == 0
    apart = mask.unsqueeze(2) & mask.unsqueeze(1) & ~torch.eye(mask.size(1), dtype=torch.bool, device=mask.device)
    scores = torch.cat([roots.unsqueeze(1), edges.masked_fill(~apart, float("-inf"))], 1)
    exact = scores.to(torch.promote_types(scores.dtype, torch.float32))
    # Each word has one parent or is the root, so a factor per column cancels: the softmax prevents overflow.
    rho, theta = torch.split(torch.softmax(exact, 1), [1, mask.size(1)], 1)
    laplacian = torch.diag_embed(theta.sum(1)) - theta
    rooted = torch.where(first.unsqueeze(1), rho * mask.unsqueeze(1), laplacian)
    inverse = torch.linalg.inv(rooted + torch.diag_embed((~mask).to(rooted.dtype)))
    own = inverse.diagonal(dim1=1, dim2=2).masked_fill(first, 0.0).unsqueeze(1)
    probabilities: Tensor = theta * (own - inverse.transpose(1, 2).masked_fill(first.unsqueeze(1), 0.0))
    return probabilities
