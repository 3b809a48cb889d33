# SPDX-License-Identifier: BSL-1.0
# The ratios that benchmark/peers/run has found, in a line for each medium and number of ranks. Reads lines of
# <medium> <ranks> <what> <bytes> <ratio>.
function median(list,   v, n, i, j, x) {
    n = split(list, v, " ")
    for (i = 2; i <= n; ++i) for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; --j) { x = v[j]; v[j] = v[j - 1]; v[j - 1] = x }
    return n == 0 ? "" : (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
}
{
    block = $1 " | " $2
    if (!(block in rows)) blocks[++count] = block
    ++rows[block]
    all[block] = all[block] " " $5
    ahead[block] += $5 <= 0.8
    behind[block] += $5 > 1
    if (!((block, $3) in of)) names[block] = names[block] " " $3
    of[block, $3] = of[block, $3] " " $5
}
END {
    print "\n| over | ranks | rows | median ratio | at 0.8 and below | above 1 | the two weakest collectives, by their medians |"
    print "|---|---|---|---|---|---|---|"
    for (b = 1; b <= count; ++b) {
        block = blocks[b]
        n = split(names[block], name, " ")
        for (i = 2; i <= n; ++i)
            for (j = i; j > 1 && median(of[block, name[j - 1]]) + 0 < median(of[block, name[j]]) + 0; --j) {
                x = name[j]; name[j] = name[j - 1]; name[j - 1] = x
            }
        weakest = ""
        for (i = 1; i <= 2 && i <= n; ++i)
            weakest = weakest (i > 1 ? ", " : "") sprintf("%s (%.2f)", name[i], median(of[block, name[i]]))
        printf "| %s | %d | %.2f | %d %% | %d | %s |\n", block, rows[block], median(all[block]), 100 * ahead[block] / rows[block],
               behind[block], weakest
    }
}
