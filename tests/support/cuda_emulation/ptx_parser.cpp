#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

#include "ptx_module.hpp"

namespace gym::ptx {
namespace {

/// What a block may have without asking for more.
constexpr std::size_t kSharedBytesMax = 48 * 1024;

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!text.empty() && blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && blank(text.back()))
        text.remove_suffix(1);
    return text;
}

/// The number after `prefix` in `text`, such as 16 of ".align 16".
std::size_t number_after(std::string_view text, std::string_view prefix) {
    const std::size_t at = text.find(prefix);
    if (at == std::string_view::npos) return 0;
    const std::string_view rest = trimmed(text.substr(at + prefix.size()));
    std::size_t value = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), value);
    return value;
}

/// The name before "[", such as x of ".b8 x[64]".
std::string_view name_before_bracket(std::string_view text) {
    const std::string_view head = trimmed(text.substr(0, text.find('[')));
    const std::size_t blank = head.find_last_of(" \t");
    return blank == std::string_view::npos ? head : head.substr(blank + 1);
}

class Parser {
  public:
    Parser(const std::string& file_name, std::string_view text) : file_(file_name), text_(text) {}

    Module run() {
        for (std::string_view statement = next(); !statement.empty(); statement = next())
            take(statement);
        return std::move(module_);
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw std::runtime_error(file_ + ", line " + std::to_string(line_) + ": " + why);
    }

    /// Up to ';', ':' of a label, '{' or '}' of a body, or the ')' of an entry.
    std::string_view next() {
        skip_blanks();
        line_ = line_after_;
        const std::size_t begin = at_;
        for (int braces = 0; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '/' && text_.substr(at_).starts_with("//")) refuse("a comment in a statement");
            const bool first = at_ == begin;
            if (first && (c == '{' || c == '}')) return text_.substr(at_++, 1);
            if (c == '{') ++braces;
            if (c == '}') --braces;
            const bool entry =
                text_.substr(begin, at_ - begin).find(".entry") != std::string_view::npos;
            const bool end = c == ';' || (c == ':' && text_[begin] == '$') || (entry && c == ')');
            if (end && braces == 0) return text_.substr(begin, ++at_ - begin);
            if (c != '\n') continue;
            if (line_directive(text_.substr(begin, at_ - begin)))
                return text_.substr(begin, at_ - begin);
            ++line_after_;
        }
        return trimmed(text_.substr(begin));
    }
    /// Directives that a line's end ends.
    static bool line_directive(std::string_view text) {
        for (const char* const name : {".version", ".target", ".address_size", ".maxntid",
                                       ".minnctapersm", ".file", ".loc", ".reqntid"})
            if (text.starts_with(name)) return true;
        return false;
    }
    void skip_blanks() {
        while (at_ < text_.size()) {
            if (text_.substr(at_).starts_with("//")) {
                while (at_ < text_.size() && text_[at_] != '\n')
                    ++at_;
            } else if (text_[at_] == '\n' || text_[at_] == ' ' || text_[at_] == '\t' ||
                       text_[at_] == '\r' || text_[at_] == ';') {
                if (text_[at_] == '\n') ++line_after_;
                ++at_;
            } else {
                return;
            }
        }
    }

    void take(std::string_view statement) {
        if (statement == "{") {
            ++depth_;
        } else if (statement == "}") {
            if (--depth_ == 0) end_kernel();
        } else if (statement.front() == '.' && depth_ == 0) {
            take_module_directive(statement);
        } else if (statement.front() == '.') {
            take_body_directive(statement);
        } else if (statement.back() == ':') {
            labels_[std::string(statement.substr(0, statement.size() - 1))] =
                kernel_.instructions.size();
        } else {
            take_instruction(statement.substr(0, statement.size() - 1));
        }
    }

    void take_module_directive(std::string_view statement) {
        if (statement.find(".entry") != std::string_view::npos) return begin_kernel(statement);
        if (statement.find(".shared") != std::string_view::npos) return add_shared(statement);
        if (line_directive(statement)) return;
        refuse("'" + std::string(statement) + "' is not known");
    }
    void take_body_directive(std::string_view statement) {
        if (statement.starts_with(".shared")) return add_shared(statement);
        if (statement.starts_with(".local")) {
            kernel_.local_bytes = number_after(statement, "[");
            local_name_ = name_before_bracket(statement);
            return;
        }
        if (statement.starts_with(".reg") || statement.starts_with(".pragma")) return;
        if (line_directive(statement)) return;
        refuse("'" + std::string(statement) + "' is not known");
    }

    /// On a multiple of its alignment and of no more, with room before the next one.
    void add_shared(std::string_view statement) {
        const std::size_t align = number_after(statement, ".align");
        const std::size_t bytes = number_after(statement, "[");
        if (align == 0 || bytes == 0) refuse("shared memory without alignment or size");
        constexpr std::size_t kGap = 64;
        std::size_t offset = (module_.shared_bytes + kGap) / align * align + align;
        if (offset / align % 2 == 0) offset += align;
        module_.shared_names.emplace_back(name_before_bracket(statement));
        module_.shared.push_back({offset, bytes, nullptr, 0});
        module_.shared_bytes = offset + bytes + kGap;
    }

    void begin_kernel(std::string_view statement) {
        const std::size_t name = statement.find(".entry") + 6, open = statement.find('(');
        kernel_ = {};
        kernel_.module = file_;
        kernel_.name = trimmed(statement.substr(name, open - name));
        const std::string_view parameter = statement.substr(open + 1);
        parameter_name_ = name_before_bracket(parameter);
        kernel_.parameter_bytes = number_after(parameter, "[");
        if (kernel_.parameter_bytes == 0 || parameter.find(',') != std::string_view::npos)
            refuse("a kernel has one argument, a struct");
        registers_.clear(), labels_.clear(), branches_.clear(), used_.clear(), local_name_ = {};
    }
    void end_kernel() {
        for (const auto& [instruction, label] : branches_) {
            const auto target = labels_.find(label);
            if (target == labels_.end()) refuse("no label " + label);
            kernel_.instructions[instruction].target = target->second;
        }
        for (const std::size_t variable : used_)
            kernel_.shared_bytes += module_.shared[variable].bytes;
        if (kernel_.shared_bytes > kSharedBytesMax)
            refuse(kernel_.name + " uses " + std::to_string(kernel_.shared_bytes) +
                   " bytes of shared memory");
        kernel_.registers = registers_.size();
        module_.kernels.push_back(std::move(kernel_));
        kernel_ = {};
    }

    void take_instruction(std::string_view statement) {
        Instruction out;
        out.line = static_cast<std::uint32_t>(line_);
        if (statement.front() == '@') {
            const std::size_t blank = statement.find_first_of(" \t");
            out.guard_negated = statement[1] == '!';
            out.guard = register_of(
                statement.substr(out.guard_negated ? 2 : 1, blank - (out.guard_negated ? 2 : 1)));
            statement = trimmed(statement.substr(blank));
        }
        const std::size_t blank = std::min(statement.find_first_of(" \t"), statement.size());
        const std::string_view opcode = statement.substr(0, blank);
        out.step = find_step(opcode);
        if (out.step == nullptr) refuse("kernels may not have '" + std::string(opcode) + "'");
        const std::string_view operands = trimmed(statement.substr(blank));
        if (opcode.starts_with("bra"))
            branches_.emplace_back(kernel_.instructions.size(), operands);
        else
            take_operands(operands, out);
        kernel_.instructions.push_back(std::move(out));
    }

    void take_operands(std::string_view text, Instruction& out) {
        bool first = true;
        while (!text.empty()) {
            std::size_t end = 0;
            if (text.front() == '{') {
                end = text.find('}') + 1;
                std::string_view group = text.substr(1, end - 2);
                const std::size_t before = out.operands.size();
                while (!group.empty())
                    out.operands.push_back(operand(cut(group)));
                out.last_group = out.operands.size() - before;
                if (first) out.first_group = out.last_group;
                cut(text = text.substr(end));
            } else {
                out.operands.push_back(operand(cut(text)));
                out.last_group = 1;
            }
            first = false;
        }
    }
    /// Takes what stands before the next comma off `text`.
    static std::string_view cut(std::string_view& text) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view head = trimmed(text.substr(0, comma));
        text = trimmed(text.substr(std::min(comma + 1, text.size())));
        return head;
    }

    std::int64_t register_of(std::string_view name) {
        const auto [at, is_new] = registers_.emplace(std::string(name), registers_.size());
        return static_cast<std::int64_t>(at->second);
    }

    Operand operand(std::string_view text) {
        if (text.starts_with("[")) return address(trimmed(text.substr(1, text.size() - 2)));
        // The second result of a shuffle, a predicate that nothing reads.
        if (const std::size_t bar = text.find('|'); bar != std::string_view::npos)
            text = text.substr(0, bar);
        Operand out;
        if (text == "_") return out;
        if (text.starts_with("!")) {
            out.kind = Operand::Kind::kNotRegister;
            out.index = static_cast<std::uint32_t>(register_of(text.substr(1)));
            return out;
        }
        if (text.starts_with("%")) return special_or_register(text);
        if (text.starts_with("0f")) {
            out.kind = Operand::Kind::kConstant;
            out.value = std::stoull("0x" + std::string(text.substr(2)), nullptr, 16);
            return out;
        }
        const char c = text.empty() ? '?' : text.front();
        if (c == '-' || (c >= '0' && c <= '9')) {
            out.kind = Operand::Kind::kConstant;
            const std::string digits(text);
            out.value = c == '-' ? static_cast<std::uint64_t>(std::stoll(digits, nullptr, 0))
                                 : std::stoull(digits, nullptr, 0);
            return out;
        }
        return symbol(text);
    }
    Operand address(std::string_view text) {
        const std::size_t plus = std::min(text.find('+'), text.size());
        Operand out = operand(trimmed(text.substr(0, plus)));
        if (plus < text.size())
            out.offset = std::stoll(std::string(trimmed(text.substr(plus + 1))), nullptr, 0);
        return out;
    }
    Operand special_or_register(std::string_view text) {
        Operand out;
        const std::size_t dot = text.find('.');
        if (dot == std::string_view::npos) {
            out.kind = Operand::Kind::kRegister;
            out.index = static_cast<std::uint32_t>(register_of(text));
            return out;
        }
        const std::string_view name = text.substr(0, dot);
        out.value = static_cast<std::uint64_t>(text[dot + 1] - 'x');
        if (name == "%tid" && out.value == 0)
            out.kind = Operand::Kind::kThread;
        else if (name == "%ctaid")
            out.kind = Operand::Kind::kBlock;
        else if (name == "%nctaid")
            out.kind = Operand::Kind::kGrid;
        else
            refuse("'" + std::string(text) + "' is not known");
        return out;
    }
    Operand symbol(std::string_view text) {
        Operand out;
        if (text == parameter_name_) {
            out.kind = Operand::Kind::kParameters;
            return out;
        }
        if (text == local_name_) {
            out.kind = Operand::Kind::kLocal;
            return out;
        }
        const auto at = std::ranges::find(module_.shared_names, text);
        if (at == module_.shared_names.end()) refuse("'" + std::string(text) + "' is not known");
        const auto index = static_cast<std::size_t>(at - module_.shared_names.begin());
        used_.insert(index);
        out.kind = Operand::Kind::kConstant;
        out.value = module_.shared[index].begin;
        return out;
    }

    std::string file_;
    std::string_view text_;
    std::size_t at_ = 0, line_ = 1, line_after_ = 1;
    int depth_ = 0;
    Module module_;
    Kernel kernel_;
    std::string_view parameter_name_, local_name_;
    std::map<std::string, std::size_t> registers_, labels_;
    std::vector<std::pair<std::size_t, std::string>> branches_;
    std::set<std::size_t> used_;
};

}  // namespace

Module parse_module(const std::string& file_name, std::string_view text) {
    return Parser(file_name, text).run();
}

}  // namespace gym::ptx
