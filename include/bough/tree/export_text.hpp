// SPDX-License-Identifier: BSL-1.0
// Numbers and text for files in SVG, XML and JSON. The same on every machine: no locale, no
// floating-point printing.
#ifndef BOUGH_TREE_EXPORT_TEXT_HPP
#define BOUGH_TREE_EXPORT_TEXT_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bough::inline BOUGH_ABI::detail {

// A number with three digits behind the point.
inline std::string thousandths(double value) {
    const bool negative = value < 0;
    const auto whole = static_cast<std::uint64_t>((negative ? -value : value) * 1000 + 0.5);
    std::string digits = std::to_string(whole % 1000);
    digits.insert(0, 3 - digits.size(), '0');
    return (negative && whole != 0 ? "-" : "") + std::to_string(whole / 1000) + '.' + digits;
}
// The same without zeros at the end: 2, 0.5.
inline std::string short_number(double value) {
    std::string text = thousandths(value);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
}

inline std::string xml_text(std::string_view plain) {
    std::string text;
    for (const char c : plain) {
        switch (c) {
        case '&': text += "&amp;"; break;
        case '<': text += "&lt;"; break;
        case '>': text += "&gt;"; break;
        case '"': text += "&quot;"; break;
        default: text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return text;
}
inline std::string json_text(std::string_view plain) {
    std::string text;
    for (const char c : plain) {
        if (c == '"' || c == '\\') text += '\\';
        text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return text;
}

// The beginning of a picture: white, with a font that is there.
inline std::string svg_head(double width, double height) {
    const std::string w = short_number(width), h = short_number(height);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h + "\" viewBox=\"0 0 " + w +
           ' ' + h +
           "\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n<rect width=\"" + w +
           "\" height=\"" + h + "\" fill=\"white\"/>\n";
}
inline std::string svg_text(double x, double y, std::string_view text, std::string_view attributes) {
    return "<text x=\"" + short_number(x) + "\" y=\"" + short_number(y) + "\" " + std::string(attributes) + '>' +
           xml_text(text) + "</text>\n";
}

} // namespace bough::detail

#endif
