# SPDX-License-Identifier: BSL-1.0
number = 1
costs = "α, β, γ = 50 µs, 80 ns/B, 0.5 ns/B"
load plots."/map.gpi"
