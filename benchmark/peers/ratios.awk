# SPDX-License-Identifier: BSL-1.0
# Draws the ratios that benchmark/peers/run has found, as SVG: a block for each medium and number of ranks, a line for each
# collective, a column for each length. Reads lines of  <medium> <ranks> <what> <bytes> <ratio>.
function length_of(bytes) {
    return bytes >= 1048576 ? bytes / 1048576 " M" : bytes >= 1024 ? bytes / 1024 " K" : bytes
}
# Blue: bough takes less time; orange: more. The number says how much, so that nobody needs the colours.
function colour(ratio) {
    return ratio <= 0.6 ? "#4393c3" : ratio <= 0.8 ? "#92c5de" : ratio <= 1 ? "#e6f0f5" : ratio <= 1.2 ? "#fddbc7" : "#f4a582"
}
{
    block = $1 ", " $2 " ranks"
    if (!(block in first)) { first[block] = ++blocks; name[blocks] = block }
    if (!((block, $3) in line)) { line[block, $3] = ++lines[block]; what[block, lines[block]] = $3 }
    if ($4 != 0 && !($4 in column)) column[$4] = $4
    ratio[block, $3, $4] = $5
}
END {
    n = 0
    for (bytes in column) sorted[++n] = bytes + 0
    for (i = 2; i <= n; ++i) for (j = i; j > 1 && sorted[j - 1] > sorted[j]; --j) { t = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = t }
    width = 130 + 52 * (n < 1 ? 1 : n) + 10
    height = 30
    for (b = 1; b <= blocks; ++b) height += 34 + 22 * lines[name[b]]
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height
    printf "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height
    print "<text x=\"10\" y=\"18\">Time of bough / time of the fastest peer. Blue: bough is faster.</text>"
    y = 30
    for (b = 1; b <= blocks; ++b) {
        block = name[b]
        y += 16
        printf "<text x=\"10\" y=\"%d\" font-weight=\"bold\">%s</text>\n", y, block
        for (i = 1; i <= n; ++i) printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", 130 + 52 * i - 26, y, length_of(sorted[i])
        y += 6
        for (k = 1; k <= lines[block]; ++k) {
            w = what[block, k]
            printf "<text x=\"10\" y=\"%d\">%s</text>\n", y + 15, w
            for (i = 0; i <= n; ++i) {
                bytes = i == 0 ? 0 : sorted[i]
                if (!((block, w, bytes) in ratio)) continue
                r = ratio[block, w, bytes]
                x = 130 + 52 * (i == 0 ? 0 : i - 1)
                printf "<rect x=\"%d\" y=\"%d\" width=\"50\" height=\"20\" fill=\"%s\"/>", x, y, colour(r)
                printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.2f</text>\n", x + 25, y + 15, r
            }
            y += 22
        }
        y += 12
    }
    print "</svg>"
}
