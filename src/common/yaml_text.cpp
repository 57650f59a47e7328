#include "gym/common/yaml_text.hpp"

#include <yaml-cpp/yaml.h>

#include <utility>
#include <vector>

namespace gym {
namespace {

constexpr std::size_t kPathKeysMax = 16;

/// The lines with their ends.
std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
        out.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return out;
}

bool begins_key(std::string_view line, std::string_view key) {
    const bool quoted = line.starts_with('"') || line.starts_with('\'');
    if (quoted) line.remove_prefix(1);
    if (!line.starts_with(key)) return false;
    line.remove_prefix(key.size());
    if (quoted && !line.empty()) line.remove_prefix(1);
    const std::size_t colon = line.find_first_not_of(' ');
    return colon != std::string_view::npos && line[colon] == ':';
}

/// Whether the line belongs to the key before it: deeper, a list's item, or nothing at all.
bool continues_value(std::string_view line) {
    if (line.starts_with("---")) return false;
    constexpr std::string_view kWithin = " \t\r\n-]}";
    return line.empty() || kWithin.find(line.front()) != std::string_view::npos;
}

bool is_blank_or_comment(std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos || line[first] == '#';
}

constexpr std::size_t kDepthMax = 64;
constexpr std::size_t kNodesMax = 100'000;

/// An alias leads to a node once more: what is written out may be endless, or grow with every line.
void check_size(const YAML::Node& node, std::size_t depth, std::size_t& nodes) {
    if (depth > kDepthMax || ++nodes > kNodesMax)
        throw YAML::Exception(node.Mark(), "with its aliases it is too large or too deep");
    if (node.IsMap()) {
        for (const auto& item : node)
            check_size(item.second, depth + 1, nodes);
    } else if (node.IsSequence()) {
        for (const auto& item : node)
            check_size(item, depth + 1, nodes);
    }
}

void check_size(const YAML::Node& node) {
    std::size_t nodes = 0;
    check_size(node, 0, nodes);
}

void make_flow(YAML::Node node) {
    if (!node.IsMap() && !node.IsSequence()) return;
    node.SetStyle(YAML::EmitterStyle::Flow);
    if (node.IsMap()) {
        for (const auto& item : node)
            make_flow(item.second);
    } else {
        for (const auto& item : node)
            make_flow(item);
    }
}

Result<std::vector<std::string>> keys_of(std::string_view path) {
    std::vector<std::string> out;
    std::string_view rest = path;
    while (out.size() < kPathKeysMax) {
        const std::size_t dot = rest.find('.');
        out.emplace_back(rest.substr(0, dot));
        const bool plain =
            !out.back().empty() &&
            out.back().find_first_of(" \t\r\n:#{}[],&*!|>'\"%@`") == std::string::npos;
        if (!plain) break;
        if (dot == std::string_view::npos) return out;
        rest.remove_prefix(dot + 1);
    }
    return fail(ErrorCode::kInvalidArgument,
                "'" + std::string(path) + "' is not a key, or keys joined by points");
}

/// One line of YAML, without its end.
std::string flow_text(const YAML::Node& node) {
    check_size(node);
    YAML::Node copy = YAML::Clone(node);
    make_flow(copy);
    YAML::Emitter emitter;
    emitter << copy;
    std::string out(emitter.c_str());
    for (std::size_t end = out.find('\n'); end != std::string::npos; end = out.find('\n', end + 3))
        out.insert(end + 1, "  ");  // deeper than the key
    return out;
}

}  // namespace

/// The bytes [begin, end) of a top-level key and its value; empty at the end of a text without it.
struct YamlText::Block {
    std::size_t begin = 0, end = 0;
    bool exists = false;
};

YamlText::YamlText(std::string text, std::string origin)
    : text_(std::move(text)), origin_(std::move(origin)) {}

Result<bool> YamlText::has(std::string_view path) const {
    GYM_TRY(const auto keys, keys_of(path));
    try {
        YAML::Node node = YAML::Load(text_);
        for (const std::string& key : keys) {
            if (!node.IsMap()) return false;
            const YAML::Node& view = node;
            const YAML::Node found = view[key];
            if (!found.IsDefined()) return false;
            node.reset(found);
        }
        return true;
    } catch (const YAML::Exception& error) {
        return fail(ErrorCode::kInvalidArgument, origin_ + " is not valid YAML: " + error.what());
    }
}

Result<YamlText::Block> YamlText::find(std::string_view key) const {
    Block out{text_.size(), text_.size()};
    std::size_t at = 0;
    bool inside = false;
    for (const std::string_view line : lines_of(text_)) {
        const bool begins = begins_key(line, key);
        if (begins && out.exists)
            return fail(ErrorCode::kInvalidArgument,
                        origin_ + ": '" + std::string(key) + "' appears twice");
        if (begins) {
            out = {at, at + line.size(), true};
            inside = true;
        } else if (inside && !is_blank_or_comment(line)) {
            inside = continues_value(line);
            if (inside) out.end = at + line.size();
        }
        at += line.size();
    }
    if (out.exists) return out;
    GYM_TRY(const bool elsewhere, has(key));
    if (!elsewhere) return out;
    return fail(ErrorCode::kInvalidArgument, origin_ + ": '" + std::string(key) +
                                                 "' must stand on a line of its own, not indented");
}

Status YamlText::replace(std::string_view key, std::string_view lines) {
    GYM_TRY(const Block block, find(key));
    std::string out(lines);
    if (!out.ends_with('\n')) out += '\n';
    if (!block.exists && !text_.empty() && !text_.ends_with('\n')) text_ += '\n';
    if (block.exists)
        text_.replace(block.begin, block.end - block.begin, out);
    else
        text_ += out;
    return {};
}

std::string yaml_quoted(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < ' ' || code == 0x7F) {  // a line break would end the value, or begin another key
            out += {'\\', 'x', kDigits[code >> 4], kDigits[code & 0xF]};
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

Status YamlText::set(std::string_view path, std::string_view value) {
    GYM_TRY(const auto keys, keys_of(path));
    try {
        const YAML::Node leaf = YAML::Load(std::string(value));
        if (keys.size() == 1) return replace(keys[0], keys[0] + ": " + flow_text(leaf));
        const YAML::Node root = text_.empty() ? YAML::Node() : YAML::Load(text_);
        YAML::Node top(YAML::NodeType::Map);
        if (root.IsMap() && root[keys[0]].IsDefined()) {
            check_size(root[keys[0]]);
            top = YAML::Clone(root[keys[0]]);
        }
        YAML::Node node = top;
        for (std::size_t i = 1; i < keys.size(); ++i) {
            if (!node.IsMap())
                return fail(ErrorCode::kInvalidArgument, origin_ + ": '" + keys[i - 1] +
                                                             "' is not a mapping, so that '" +
                                                             std::string(path) + "' cannot be set");
            if (i + 1 == keys.size()) {
                node[keys[i]] = leaf;
                break;
            }
            if (!node[keys[i]].IsDefined()) node[keys[i]] = YAML::Node(YAML::NodeType::Map);
            node.reset(node[keys[i]]);
        }
        return replace(keys[0], keys[0] + ": " + flow_text(top));
    } catch (const YAML::Exception& error) {
        return fail(ErrorCode::kInvalidArgument, "'" + std::string(path) + "=" +
                                                     std::string(value) +
                                                     "' is not valid YAML: " + error.what());
    }
}

Status YamlText::erase(std::string_view key) {
    GYM_TRY(const Block block, find(key));
    std::string out;
    for (const std::string_view line :
         lines_of(std::string_view(text_).substr(block.begin, block.end - block.begin)))
        out += "# " + std::string(line);
    text_.replace(block.begin, block.end - block.begin, out);
    return {};
}

}  // namespace gym
