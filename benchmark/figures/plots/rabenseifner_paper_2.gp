# SPDX-License-Identifier: BSL-1.0
number = 2
costs = "α, β, γ = 5 µs, 1 ns/B, 0.25 ns/B"
load plots."/map.gpi"
