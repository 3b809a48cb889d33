// SPDX-License-Identifier: BSL-1.0
// Parsing the command line; and its help.
#include "command_line.hpp"

#include "pages.hpp"
#include "parse.hpp"
#include "progress.hpp"
#include "shape.hpp"
#include <bough/core/version.hpp>

#include <algorithm>
#include <iostream>
#include <string_view>

namespace cli {

namespace {

std::string version() {
    const bough::version v;
    return "bough " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
}

// "--ranks: At Most 1 required but received 2" and "--ranks: 1 required P missing", as sentences.
std::string sentence_of(const CLI::ArgumentMismatch& e) {
    const std::string text = e.what();
    const auto part = [&](std::string_view before, std::string_view after) -> std::string {
        const std::size_t begin = text.find(before), end = text.rfind(after);
        if (begin == std::string::npos || end == std::string::npos || end < begin + before.size()) return "";
        return text.substr(begin + before.size(), end - begin - before.size());
    };
    const std::string argument = text.substr(0, text.find(':'));
    if (const std::string times = part(": At Most 1 required but received ", ""); !times.empty())
        return argument + ": is given once, not " + times + " times";
    if (const std::string type = part(": 1 required ", " missing"); !type.empty())
        return argument + ": needs a value, " + type;
    return text;
}

} // namespace

command_line::command_line() {
    app_.set_version_flag("--version", version());
    app_.failure_message([](const CLI::App*, const CLI::Error& e) { return std::string(e.what()); });
    app_.require_subcommand(0, 1);
    app_.footer("'bough COMMAND --help' explains a command and shows two examples.");
    for (const auto add :
         {&add_tree,    &add_compare,  &add_schedule, &add_verify, &add_table,   &add_choose, &add_map,
          &add_measure, &add_simulate, &add_network,  &add_tune,   &add_predict, &add_run,    &add_launch,
          &add_doctor,  &add_trace,    &add_timeline, &add_nic,    &add_export,  &add_import, &add_demo})
        add(*this);
    add_completion();
    add_help();
}

int command_line::parse_and_run(int argc, char** argv) {
    try {
        app_.parse(take_program(argc, argv), argv);
    } catch (const CLI::Success& e) { // --help and --version
        return app_.exit(e);
    } catch (const CLI::ExtrasError&) {
        throw usage_error(what_is_too_much());
    } catch (const CLI::ArgumentMismatch& e) {
        throw usage_error(sentence_of(e));
    } catch (const CLI::ParseError& e) {
        throw usage_error(e.what());
    }
    if (chosen_) {
        const std::string& name = app_.get_subcommands().front()->get_name();
        if (name == "launch" || name == "demo") return chosen_(); // they show by themselves what they do
        const progress::shown while_it_runs(name.c_str());
        return chosen_();
    }
    std::cout << help_of_all();
    return 0;
}

CLI::App* command_line::add_command(const std::string& name, const std::string& what, const std::string& examples,
                                    std::function<int()> run) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->footer("Examples:\n" + examples);
    command->callback([this, run = std::move(run)] { chosen_ = run; });
    return command;
}

void command_line::add_help() {
    const auto wanted = std::make_shared<std::string>();
    const auto man = std::make_shared<bool>(false);
    CLI::App* command =
        add_command("help", "Explain all of this, or a command",
                    "  bough help\n"
                    "  bough help choose\n"
                    "  bough help --man | man -l -\n",
                    [this, wanted, man] {
                        if (*man)
                            print_man_page(std::cout, app_, version());
                        else
                            std::cout << (wanted->empty() ? help_of_all() : command_of(*wanted).help("bough"));
                        return 0;
                    });
    command->add_option("COMMAND", *wanted, "Which; all of them if not given")->type_name("");
    command->add_flag("--man", *man, "Print all of it as a man page");
}

void command_line::add_completion() {
    const auto shell = std::make_shared<std::string>();
    CLI::App* command = add_command("completion", "Print what a shell needs to complete words",
                                    "  bough completion bash > ~/.local/share/bash-completion/completions/bough\n"
                                    "  bough completion fish > ~/.config/fish/completions/bough.fish\n",
                                    [this, shell] {
                                        print_completion(std::cout, app_, *shell);
                                        return 0;
                                    });
    command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
}

// app_.help() is that of the command, once there is one.
std::string command_line::help_of_all() {
    return app_.get_formatter()->make_help(&app_, app_.get_name(), CLI::AppFormatMode::Normal);
}

const CLI::App& command_line::command_of(const std::string& name) {
    for (const CLI::App* command : app_.get_subcommands({}))
        if (command->get_name() == name) return *command;
    throw usage_error("COMMAND", "there is no '" + name + "'; known are " + known_commands());
}

std::string command_line::known_commands() {
    std::string names;
    for (const CLI::App* command : app_.get_subcommands({})) names += (names.empty() ? "" : ", ") + command->get_name();
    return names;
}

std::string command_line::what_is_too_much() {
    const std::string extra = "'" + app_.remaining(true).front() + "'";
    const auto chosen = app_.get_subcommands();
    if (!chosen.empty())
        return extra + ": is not an argument of 'bough " + chosen.front()->get_name() + "'; try --help";
    return extra + ": is not a command; known are " + known_commands();
}

// Returns how many arguments are left.
int command_line::take_program(int argc, char** argv) {
    if (argc < 2 || std::string_view(argv[1]) != "launch") return argc;
    int at = 2;
    for (; at < argc && argv[at][0] == '-'; ++at) {
        const std::string_view option = argv[at];
        if (option.starts_with("-n")) *ranks_as_ = "-n";
        if (option == "--") {
            program_->assign(argv + at + 1, argv + argc);
            return at;
        }
        at += option == "-n" || option == "--ranks" || option == "--timeout" || option == "--grace" ||
              option == "--trace"; // its value
    }
    if (at < argc) program_->assign(argv + at, argv + argc);
    return std::min(at, argc);
}

void add_format(CLI::App* command, std::string& format, const std::vector<std::string>& known, bool has_json) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    command->add_option("--format", format, "How to print: " + names)
        ->type_name("FORMAT")
        ->check([known, names](const std::string& text) {
            for (const std::string& name : known)
                if (name == text) return std::string();
            return "there is no '" + text + "'; known are " + names;
        });
    if (!has_json) return;
    command->add_flag_callback(
        "--json", [&format] { format = "json"; }, "The same as --format json");
}

void add_plan(CLI::App* command, plan_arguments& plan, const std::string& about_ranks, bool required,
              const std::string& about_network) {
    command->add_option("COLLECTIVE", plan.collective, about_plan_collectives)->required(required)->type_name("");
    command
        ->add_option("ALGORITHM", plan.algorithm,
                     "A shape, for the algorithm over that tree: " + known_shapes() +
                         "; or another by name: 'bough table' shows all, a wrong name those of the collective")
        ->required(required)
        ->type_name("");
    command->add_option("--ranks", plan.ranks, about_ranks)->type_name("P");
    command
        ->add_option("--root", plan.root,
                     "The rank at the top; the late, or slow, one of late_rank and slow_rank; 0 if not given")
        ->type_name("R");
    command->add_option("--blocks", plan.blocks, "Cut the vector into B blocks, which a tree pipelines")
        ->type_name("B");
    command->add_option("--degree", plan.degree, about_degree)->type_name("F");
    command->add_option("--extents", plan.extents, about_extents)->type_name("EXTENTS");
    command->add_option("--neighbours", plan.neighbours, about_neighbours)->type_name("WHO");
    command->add_option("--network", plan.network, about_network)->type_name("NET");
    command->add_flag("--ordered", plan.ordered, "Keep rank order for any root, for an op that does not commute");
}

} // namespace cli
