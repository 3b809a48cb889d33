// SPDX-License-Identifier: BSL-1.0
// The man page and the scripts for shells, from what the parser knows.
#include "pages.hpp"

#include "catalogue.hpp"
#include "parse.hpp"
#include "shape.hpp"

#include <ostream>
#include <sstream>
#include <string_view>
#include <vector>

namespace cli {

namespace {

using words = std::vector<std::string>;

std::string joined(const words& all) {
    std::string text;
    for (const std::string& word : all) text += (text.empty() ? "" : " ") + word;
    return text;
}

// "-n", "--ranks"
words names_of(const CLI::Option& option) {
    words names;
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
    return names;
}

words options_of(const CLI::App& command) {
    words names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : names_of(*option)) names.push_back(name);
    return names;
}

// What may stand where no option does, as far as that is a fixed list.
words positions_of(const CLI::App& command) {
    words known;
    for (const CLI::Option* option : command.get_options()) {
        std::istringstream shapes(known_shapes());
        if (option->get_name() == "COLLECTIVE")
            for (const collective c : all_collectives()) known.emplace_back(name_of(c));
        if (option->get_name() == "ALGORITHM" || option->get_name() == "SHAPE")
            for (std::string shape; shapes >> shape;) known.push_back(shape.substr(0, shape.find(',')));
    }
    return known;
}

words commands_of(const CLI::App& app) {
    words names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    return names;
}

// One line of text for troff: no hyphen of typography, no backslash, no dot at its beginning.
std::string troff(std::string_view text) {
    std::string made;
    for (const char c : text) {
        if (c == '-' || c == '\\') made += '\\';
        made += c == '\\' ? "e" : std::string(1, c);
    }
    if (!made.empty() && (made[0] == '.' || made[0] == '\'')) made.insert(0, "\\&");
    return made;
}

void print_options(std::ostream& out, const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
        std::string name = joined(names_of(*option));
        for (std::size_t at = 0; (at = name.find(' ', at)) != std::string::npos; at += 2) name.replace(at, 1, ", ");
        if (name.empty()) name = option->get_name();
        const std::string type = option->get_expected_max() == 0 ? "" : option->get_type_name();
        out << ".TP\n.B " << troff(name);
        if (!type.empty()) out << "\n.I " << troff(type);
        out << '\n' << troff(option->get_description()) << '\n';
    }
}

} // namespace

void print_man_page(std::ostream& out, const CLI::App& app, const std::string& version) {
    out << ".TH BOUGH 1 \"\" \"" << version << "\" \"User commands\"\n"
        << ".SH NAME\nbough \\- " << troff(app.get_description().substr(app.get_description().find(' ') + 1)) << '\n'
        << ".SH SYNOPSIS\n.B bough\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n"
        << ".SH COMMANDS\n";
    for (const CLI::App* command : app.get_subcommands({})) {
        out << ".SS bough " << troff(command->get_name()) << '\n' << troff(command->get_description()) << ".\n";
        print_options(out, *command);
        out << ".PP\n.nf\n";
        std::istringstream footer(command->get_footer());
        for (std::string line; std::getline(footer, line);) out << troff(line) << '\n';
        out << ".fi\n";
    }
    out << ".SH EXIT STATUS\n"
        << ".TP\n.B 0\nAll is well.\n.TP\n.B 1\nA plan or a result is wrong.\n"
        << ".TP\n.B 2\nWhat was typed cannot be asked for.\n.TP\n.B 3\nThe machine could not do it.\n";
}

void print_completion(std::ostream& out, const CLI::App& app, const std::string& shell) {
    if (shell == "fish") {
        out << "complete -c bough -n __fish_use_subcommand -f -a '" << joined(commands_of(app)) << "'\n";
        for (const CLI::App* command : app.get_subcommands({})) {
            const std::string where = "complete -c bough -n '__fish_seen_subcommand_from " + command->get_name() + "'";
            for (const CLI::Option* option : command->get_options()) {
                for (const std::string& name : option->get_lnames()) out << where << " -l " << name << '\n';
                for (const std::string& name : option->get_snames()) out << where << " -s " << name << '\n';
            }
            if (const words known = positions_of(*command); !known.empty())
                out << where << " -a '" << joined(known) << "'\n";
        }
        return;
    }
    if (shell != "bash" && shell != "zsh")
        throw usage_error("SHELL", "there is no '" + shell + "'; known are bash, zsh, fish");
    if (shell == "zsh") out << "autoload -U +X bashcompinit && bashcompinit\n";
    out << "_bough() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} options= known=\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '"
        << joined(commands_of(app))
        << "' -- \"$word\"))\n"
           "        return\n"
           "    fi\n"
           "    case ${COMP_WORDS[1]} in\n";
    for (const CLI::App* command : app.get_subcommands({})) {
        out << "    " << command->get_name() << ") options='" << joined(options_of(*command)) << "'";
        if (command->get_name() == "help") out << " known='" << joined(commands_of(app)) << "'";
        if (command->get_name() == "completion") out << " known='bash zsh fish'";
        if (const words known = positions_of(*command); !known.empty()) out << " known='" << joined(known) << "'";
        out << " ;;\n";
    }
    out << "    esac\n"
           "    case $word in\n"
           "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
           "    *) COMPREPLY=($(compgen -W \"$known\" -- \"$word\") $(compgen -f -- \"$word\")) ;;\n"
           "    esac\n"
           "}\n"
           "complete -o filenames -F _bough bough\n";
}

} // namespace cli
