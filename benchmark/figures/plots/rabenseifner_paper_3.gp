# SPDX-License-Identifier: BSL-1.0
number = 3
costs = "α, β, γ = 1.5 µs, 0.04 ns/B, 0.1 ns/B"
load plots."/map.gpi"
