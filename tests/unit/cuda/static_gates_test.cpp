// What can be seen in the kernels' PTX and in ptxas's reports without running them: the files of
// the folder GYM_CUDA_PTX, *.ptx and *.ptxas.
#include <gtest/gtest.h>

#include <cxxabi.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace gym {
namespace {

namespace fs = std::filesystem;

/// Kernels whose source has fma(): a contraction would add it to another.
constexpr std::array kFilesWithFma{"adamw", "attention", "elementwise", "loss", "macro_elementwise",
                                   "norm",  "product"};

constexpr int kCopyAlignment = 16;          // of what cp.async writes
constexpr int kSharedBytesMax = 48 * 1024;  // without asking for more
/// A multiprocessor of 65,536 registers has room for six blocks of 256 threads.
constexpr int kRegistersMax = 40;

/// Kernels that may have more registers, or local memory (an array that is indexed at run time).
/// None may spill.
struct Limit {
    const char* kernel;
    int registers;
    int local_bytes;
};
constexpr std::array kLimits{
    Limit{"DeltaRow", 48, 0},
    Limit{"SoftmaxRow", 48, 0},
    Limit{"ForEach<LeafElement>", 64, 0},
    Limit{"ForEach<NodeElement>", 64, 0},
    Limit{"ForEach<SumTensorsElement>", kRegistersMax, 128},
    // Accumulators and totals fill a multiprocessor's registers with one block.
    Limit{"Product<false, false>", 176, 0},
    Limit{"Product<true, false>", 232, 0},
    Limit{"Product<false, true>", 176, 0},
    Limit{"Product<true, true>", 240, 0},
    // Two blocks of 64 threads find more registers than they need.
    Limit{"ColumnSums", 48, 0},
    Limit{"RowDots", 48, 0},
    Limit{"SumRegions", 48, 0},
};

Limit limit_of(const std::string& kernel) {
    const auto at = std::ranges::find(kLimits, kernel, &Limit::kernel);
    return at == kLimits.end() ? Limit{"", kRegistersMax, 0} : *at;
}

struct Resources {
    int local_bytes = 0, spilled_bytes = 0, registers = 0, shared_bytes = 0;
};

/// X of "void gym::kernels::cuda::run_kernel<256, X>(X)", without its namespaces.
std::string kernel_name(const std::string& mangled) {
    int status = 0;
    char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string name = status == 0 ? text : mangled;
    std::free(text);
    const std::size_t begin = name.find(", "), end = name.rfind(">(");
    if (begin != std::string::npos && end != std::string::npos)
        name = name.substr(begin + 2, end - begin - 2);
    name = std::regex_replace(name, std::regex("gym::kernels::cuda::|\\(anonymous namespace\\)::"),
                              "");
    name = std::regex_replace(name, std::regex(" +>"), ">");
    return std::regex_replace(name, std::regex(" +$"), "");
}

int number(const std::string& text, const char* pattern) {
    std::smatch match;
    return std::regex_search(text, match, std::regex(pattern)) ? std::stoi(match[1].str()) : 0;
}

/// By kernel and device, such as "Product<true, false> on sm_80".
std::map<std::string, Resources> read_report(std::istream& report) {
    const std::regex entry("Compiling entry function '([^']+)' for '([^']+)'");
    std::map<std::string, Resources> out;
    Resources* current = nullptr;
    for (std::string line; std::getline(report, line);) {
        std::smatch match;
        if (std::regex_search(line, match, entry))
            current = &out[kernel_name(match[1]) + " on " + match[2].str()];
        if (current == nullptr) continue;
        if (line.find("spill stores") != std::string::npos) {
            current->local_bytes = number(line, "([0-9]+) bytes stack frame");
            current->spilled_bytes = number(line, "([0-9]+) bytes spill stores") +
                                     number(line, "([0-9]+) bytes spill loads");
        }
        if (line.find("Used ") == std::string::npos) continue;
        current->registers = number(line, "Used ([0-9]+) registers");
        current->shared_bytes = number(line, "([0-9]+) bytes smem");
    }
    return out;
}

/// What is wrong with them; empty if nothing is.
std::string excess(const std::string& kernel_on_device, const Resources& used) {
    const Limit limit = limit_of(kernel_on_device.substr(0, kernel_on_device.find(" on ")));
    std::ostringstream out;
    if (used.registers < 1 || used.registers > limit.registers)
        out << used.registers << " registers, " << limit.registers << " allowed; ";
    if (used.spilled_bytes > 0) out << used.spilled_bytes << " bytes spilled; ";
    if (used.local_bytes > limit.local_bytes)
        out << used.local_bytes << " bytes of local memory, " << limit.local_bytes << " allowed; ";
    if (used.shared_bytes > kSharedBytesMax)
        out << used.shared_bytes << " bytes of shared memory; ";
    return out.str();
}

std::vector<std::string> split(const std::string& opcode) {
    std::vector<std::string> out;
    std::istringstream in(opcode);
    for (std::string part; std::getline(in, part, '.');)
        out.push_back(part);
    return out;
}

bool is_one_of(const std::string& part, std::initializer_list<const char*> parts) {
    return std::ranges::find(parts, part) != parts.end();
}

/// Whether the kernels may have this opcode: f32 arithmetic has .rn, nothing flushes subnormals or
/// is approximate, and no other floating-point type computes.
bool may_stand(const std::string& opcode) {
    const std::vector<std::string> parts = split(opcode);
    const auto has = [&](std::initializer_list<const char*> names) {
        return std::ranges::any_of(parts, [&](const auto& part) { return is_one_of(part, names); });
    };
    if (has({"ftz", "approx", "full", "sat", "rz", "rm", "rp", "f64", "f16", "f16x2", "bf16",
             "bf16x2", "tf32"}))
        return false;
    if (!has({"f32"})) return true;
    const std::string& what = parts.front();
    if (is_one_of(what, {"atom", "red"})) return false;  // in any order
    if (is_one_of(what, {"add", "sub", "mul", "mad", "fma", "div", "rcp", "sqrt"}) ||
        (what == "cvt" && parts.back() != "f32"))
        return has({"rn"}) || has({"rzi", "rni"});  // conversions to integers name their own
    return !is_one_of(what, {"rsqrt", "ex2", "lg2", "sin", "cos", "tanh"});
}

/// What is wrong with a file of PTX; empty if nothing is. @param name without its extension.
std::vector<std::string> lint(const std::string& name, std::istream& text) {
    const std::regex instruction(R"(^\s*(@!?%\w+\s+)?([a-z][\w.:]*)\s)");
    const std::regex shared(R"(\.shared\s+\.align\s+(\d+))");
    std::vector<std::string> out;
    int least_alignment = kCopyAlignment;
    bool copies = false, fuses = false;
    for (std::string line; std::getline(text, line);) {
        std::smatch match;
        if (std::regex_search(line, match, shared))
            least_alignment = std::min(least_alignment, std::stoi(match[1].str()));
        if (!std::regex_search(line, match, instruction)) continue;
        const std::string opcode = match[2];
        copies |= opcode.starts_with("cp.async.cg") || opcode.starts_with("cp.async.ca");
        fuses |= opcode.starts_with("fma.");
        if (!may_stand(opcode)) out.push_back(opcode);
    }
    if (copies && least_alignment < kCopyAlignment)
        out.push_back("cp.async to memory aligned to " + std::to_string(least_alignment));
    if (fuses && std::ranges::find(kFilesWithFma, name) == kFilesWithFma.end())
        out.emplace_back("fma, which its source has not");
    return out;
}

std::vector<std::string> lint_of(const std::string& name, const std::string& text) {
    std::istringstream in(text);
    return lint(name, in);
}

/// Of a product: what a stage executes, what a warp executes beside its stages, and what the kernel
/// has in all.
struct ProductCounts {
    int products = 0, shared_loads = 0, others = 0;
    int before = 0;            ///< from the entry to the first stage
    int block_end = 0;         ///< at the end of each block of 1,024, if there are several
    int after = 0;             ///< from the last stage to the end of the kernel: checks and results
    int wide_divisions = 0;    ///< of 64 bits: a call of some hundred instructions
    int wide_conversions = 0;  ///< from 64 bits to f32: a sixteenth of the speed of others
    int past_l1 = 0;           ///< loads that do not take what a multiprocessor's cache has
};

/// The opcode of a line of PTX; empty if it has none.
std::string opcode_of(const std::string& line) {
    static const std::regex instruction(R"(^\s*(@!?%\w+\s+)?([a-z][\w.:]*)\s)");
    std::smatch match;
    return std::regex_search(line, match, instruction) ? match[2].str() : std::string();
}

bool is_branch(const std::string& line) {
    return opcode_of(line).starts_with("bra");
}

bool is_return(const std::string& line) {
    return line.ends_with("ret;");
}

/// The target of a branch, such as "$L__BB0_1".
std::string target_of(const std::string& line) {
    const std::size_t begin = line.find("$L");
    return begin == std::string::npos ? "" : line.substr(begin, line.rfind(';') - begin);
}

/// The longest way from one line to another, in instructions, both counted; branches backward are
/// not followed. A negative number if there is no way.
int longest_way(const std::vector<std::string>& lines, std::size_t from, std::size_t to) {
    constexpr int kNoWay = -1'000'000;
    std::map<std::string, std::size_t> labels;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (lines[i].starts_with("$L")) labels[lines[i].substr(0, lines[i].find(':'))] = i;
    std::vector<int> ways(lines.size() + 1, kNoWay);
    for (std::size_t i = to + 1; i-- > from;) {
        const std::string opcode = opcode_of(lines[i]);
        if (i == to) {
            ways[i] = 1;
            continue;
        }
        const bool always = lines[i].find('@') == std::string::npos;
        const bool leaves = is_return(lines[i]) || (always && is_branch(lines[i]));
        int way = leaves ? kNoWay : ways[i + 1];
        if (is_branch(lines[i])) {
            const std::size_t target = labels[target_of(lines[i])];
            if (target > i && target <= to) way = std::max(way, ways[target]);
        }
        ways[i] = way + (opcode.empty() ? 0 : 1);
    }
    return ways[from];
}

/// A stage is what stands between the label of the loop that has the tensor-core products and the
/// first branch after them: copies of a later stage with it, the end of a block of 1,024 not. That
/// and what stands before and after the loop are counted along their longest way: a warp that takes
/// the shorter arm of a branch executes fewer.
ProductCounts count_product(const std::vector<std::string>& lines) {
    const auto is_product = [](const std::string& line) {
        return opcode_of(line).starts_with("mma.");
    };
    ProductCounts out;
    const auto first = std::ranges::find_if(lines, is_product);
    const auto after = std::find_if(lines.rbegin(), lines.rend(), is_product).base();
    const auto begins_loop = [&](const std::string& label) {
        if (!label.starts_with("$L")) return false;
        const std::string target = label.substr(0, label.find(':')) + ";";
        return std::any_of(after, lines.end(), [&](const std::string& line) {
            return is_branch(line) && line.ends_with(target);
        });
    };
    const auto begin = std::find_if(std::reverse_iterator(first), lines.rend(), begins_loop).base();
    const auto end = std::find_if(after, lines.end(), is_branch);
    for (auto line = lines.begin(); line != lines.end(); ++line) {
        const std::string opcode = opcode_of(*line);
        const bool divides = opcode.starts_with("div.") || opcode.starts_with("rem.");
        if (divides && opcode.ends_with("64")) ++out.wide_divisions;
        if (opcode == "cvt.rn.f32.s64") ++out.wide_conversions;
        if (opcode.starts_with("ld.global.cg.")) ++out.past_l1;
        if (opcode.empty() || line < begin || line > end) continue;
        const bool load = opcode.starts_with("ld.shared") || opcode.starts_with("ldmatrix.");
        (is_product(*line) ? out.products : load ? out.shared_loads : out.others) += 1;
    }
    const auto index = [&](auto line) { return static_cast<std::size_t>(line - lines.begin()); };
    const std::string loop =
        begin == lines.begin() ? "" : std::prev(begin)->substr(0, std::prev(begin)->find(':'));
    const auto repeats = std::find_if(lines.rbegin(), lines.rend(), [&](const std::string& line) {
        return is_branch(line) && target_of(line) == loop;
    });
    const std::size_t back = index(repeats.base()) - 1;
    const auto ends = std::find_if(lines.rbegin(), lines.rend(), is_return);
    const std::size_t last = index(ends.base()) - 1;
    // The label before the loop's first line is no instruction, but counts as the way's end.
    out.before = longest_way(lines, 0, index(begin) - 1) - 1;
    if (end < lines.begin() + static_cast<std::ptrdiff_t>(back))
        out.block_end = longest_way(lines, index(end) + 1, back);
    out.after = longest_way(lines, back + 1, last);
    return out;
}

/// By kernel.
std::map<std::string, ProductCounts> count_products(std::istream& text) {
    const std::regex entry(R"(\.entry\s+(\w+))");
    std::map<std::string, std::vector<std::string>> kernels;
    std::vector<std::string>* kernel = nullptr;
    for (std::string line; std::getline(text, line);) {
        std::smatch match;
        if (std::regex_search(line, match, entry)) kernel = &kernels[kernel_name(match[1])];
        if (kernel != nullptr) kernel->push_back(line);
    }
    std::map<std::string, ProductCounts> out;
    for (const auto& [name, lines] : kernels)
        out[name] = count_product(lines);
    return out;
}

/// What a kernel may have at most, a tensor-core product.
struct ProductBudget {
    const char* kernel;
    double shared_loads, others;
    int wide_conversions;
    int before, block_end, after;  ///< of a warp, not of a product
    int past_l1;                   ///< exactly: exponents of 4 rows and 8 columns, for the check
};
constexpr std::array kProductBudgets{
    ProductBudget{"Product<false, false>", 0.34, 3.25, 0, 460, 0, 1'000, 0},
    ProductBudget{"Product<false, true>", 0.34, 3.25, 0, 460, 0, 2'350, 12},
    // A total of several blocks' terms needs its 64 bits: one conversion a result, two if checked.
    ProductBudget{"Product<true, false>", 0.34, 3.42, 32, 440, 870, 550, 0},
    ProductBudget{"Product<true, true>", 0.34, 3.42, 64, 440, 2'100, 1'450, 36},
};

std::vector<fs::path> files(const char* extension) {
    std::vector<fs::path> out;
    const char* const folder = std::getenv("GYM_CUDA_PTX");
    if (folder == nullptr) return out;
    std::ranges::copy_if(fs::directory_iterator(folder), std::back_inserter(out),
                         [&](const auto& file) { return file.path().extension() == extension; });
    return out;
}

TEST(StaticGates, PtxHasCorrectlyRoundedArithmeticAlone) {
    const auto all = files(".ptx");
    ASSERT_GE(all.size(), 13U) << "GYM_CUDA_PTX";
    for (const fs::path& file : all) {
        std::ifstream text(file);
        for (const std::string& fault : lint(file.stem().string(), text))
            ADD_FAILURE() << file.filename() << ": " << fault;
    }
}

TEST(StaticGates, KernelsStayWithinTheirRegistersAndMemory) {
    std::size_t kernels = 0;
    for (const fs::path& file : files(".ptxas")) {
        std::ifstream report(file);
        for (const auto& [name, used] : read_report(report)) {
            ++kernels;
            EXPECT_EQ(excess(name, used), "") << name;
        }
    }
    EXPECT_GE(kernels, 3U * 60U) << "GYM_CUDA_PTX";
}

TEST(StaticGates, ProductsStayWithinTheirBudgetsOfInstructions) {
    std::map<std::string, ProductCounts> found;
    for (const fs::path& file : files(".ptx")) {
        if (file.stem() != "product") continue;
        std::ifstream text(file);
        found = count_products(text);
    }
    for (const ProductBudget& budget : kProductBudgets) {
        ASSERT_TRUE(found.contains(budget.kernel)) << budget.kernel << ", GYM_CUDA_PTX";
        const ProductCounts& counts = found[budget.kernel];
        ASSERT_GT(counts.products, 0) << budget.kernel;
        const double loads = double(counts.shared_loads) / counts.products;
        const double others = double(counts.others) / counts.products;
        std::cout << budget.kernel << ": " << counts.products << " products a stage, " << loads
                  << " loads and " << others << " other instructions each, "
                  << counts.wide_conversions << " conversions from 64 bits; " << counts.before
                  << " instructions before the stages, " << counts.block_end
                  << " at the end of a block, " << counts.after << " after the stages\n";
        EXPECT_LE(loads, budget.shared_loads) << budget.kernel;
        EXPECT_LE(others, budget.others) << budget.kernel;
        EXPECT_LE(counts.wide_conversions, budget.wide_conversions) << budget.kernel;
        EXPECT_EQ(counts.wide_divisions, 0) << budget.kernel;
        EXPECT_EQ(counts.past_l1, budget.past_l1) << budget.kernel;
        EXPECT_GT(counts.before, 0) << budget.kernel;
        EXPECT_LE(counts.before, budget.before) << budget.kernel;
        EXPECT_EQ(counts.block_end > 0, budget.block_end > 0) << budget.kernel;
        EXPECT_LE(counts.block_end, budget.block_end) << budget.kernel;
        EXPECT_GT(counts.after, 0) << budget.kernel;
        EXPECT_LE(counts.after, budget.after) << budget.kernel;
    }
}

TEST(StaticGates, TheBudgetsCountAStage) {
    std::istringstream text(
        ".visible .entry "
        "_ZN3gym7kernels4cuda10run_kernelILi256ENS1_12_GLOBAL__N_17ProductILb1ELb0EEEEEvT0_(\n"
        "\tdiv.s64 \t%rd1, %rd2, %rd3;\n$L__BB0_1:\n\tadd.s32 \t%r1, %r2, %r3;\n"
        "\t@%p1 bra \t$L__BB0_3;\n$L__BB0_2:\n"
        "\tcp.async.cg.shared.global [%r1], [%rd1], 16, %r2;\n$L__BB0_3:\n"
        "\tld.shared.u32 \t%r1, [%r2];\n"
        "\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];\n"
        "\t@%p1 add.s32 \t%r1, %r2, %r3;\n\tmma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
        "{%r1}, {%r2}, {%r3}, {%r4};\n\tshl.b32 \t%r1, %r2, 1;\n\t@%p1 bra \t$L__BB0_5;\n"
        "\tcvt.rn.f32.s64 \t%f1, %rd1;\n\tdiv.u32 \t%r1, %r2, %r3;\n$L__BB0_5:\n"
        "\t@%p1 bra \t$L__BB0_1;\n\t@%p1 bra \t$L__BB0_7;\n\tbra.uni \t$L__BB0_6;\n"
        "$L__BB0_6:\n\tadd.s32 \t%r1, %r2, %r3;\n\tadd.s32 \t%r1, %r2, %r3;\n$L__BB0_7:\n"
        "\tret;\n");
    const auto found = count_products(text);
    ASSERT_EQ(found.size(), 1U);
    const ProductCounts& counts = found.at("Product<true, false>");
    EXPECT_EQ(counts.products, 1);
    EXPECT_EQ(counts.shared_loads, 2);
    EXPECT_EQ(counts.others, 6);
    EXPECT_EQ(counts.wide_divisions, 1);
    EXPECT_EQ(counts.wide_conversions, 1);
    EXPECT_EQ(counts.before, 1);
    EXPECT_EQ(counts.block_end, 3) << "with the branch back";
    EXPECT_EQ(counts.after, 5) << "the longer of two ways";
}

TEST(StaticGates, TheLintFindsWhatKernelsMayNotHave) {
    for (const char* const opcode :
         {"add.f32", "add.ftz.rn.f32", "mul.rz.f32", "div.full.f32", "div.approx.f32", "sqrt.f32",
          "fma.rm.f32", "ex2.approx.f32", "rsqrt.approx.f32", "add.rn.f64", "fma.rn.f16x2",
          "cvt.rz.f32.s64", "cvt.f32.s32", "atom.global.add.f32", "red.global.add.f32"})
        EXPECT_EQ(lint_of("norm", std::string("\t@%p1 ") + opcode + " \t%f1, %f2, %f3;\n").size(),
                  1U)
            << opcode;
    for (const char* const opcode :
         {"add.rn.f32", "fma.rn.f32", "sqrt.rn.f32", "cvt.rn.f32.s64", "cvt.rzi.s32.f32",
          "cvt.rni.f32.f32", "setp.gt.f32", "ld.global.f32", "atom.global.add.u64", "neg.f32"})
        EXPECT_TRUE(lint_of("norm", std::string("\t") + opcode + " \t%f1, %f2;\n").empty())
            << opcode;
    EXPECT_EQ(lint_of("sums", "\tfma.rn.f32 \t%f1, %f2, %f3, %f4;\n").size(), 1U);
    const std::string copy = "\tcp.async.cg.shared.global [%r1], [%rd1], 16, %r2;\n";
    EXPECT_EQ(lint_of("product", "\t.shared .align 8 .b8 s[64];\n" + copy).size(), 1U);
    EXPECT_TRUE(lint_of("product", "\t.shared .align 16 .b8 s[64];\n" + copy).empty());
}

TEST(StaticGates, AReportBeyondTheLimitsIsRefused) {
    std::istringstream report(
        "ptxas info    : Compiling entry function "
        "'_ZN3gym7kernels4cuda10run_kernelILi256ENS1_12_GLOBAL__N_17ProductILb1ELb0EEEEEvT0_' for "
        "'sm_80'\nptxas info    : Function properties for x\n"
        "    64 bytes stack frame, 64 bytes spill stores, 60 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 49152 bytes smem, 552 bytes "
        "cmem[0]\n");
    const auto read = read_report(report);
    ASSERT_EQ(read.size(), 1U);
    const auto& [name, used] = *read.begin();
    EXPECT_EQ(name, "Product<true, false> on sm_80");
    EXPECT_EQ(
        excess(name, used),
        "255 registers, 232 allowed; 124 bytes spilled; 64 bytes of local memory, 0 allowed; ");
    EXPECT_EQ(excess(name, {0, 0, 232, kSharedBytesMax}), "");
    EXPECT_NE(excess(name, {0, 0, 232, kSharedBytesMax + 4}), "");
    EXPECT_NE(excess(name, {0, 0, 0, 0}), "") << "nothing was read";
    EXPECT_NE(excess("RowSum on sm_90", {0, 0, kRegistersMax + 1, 0}), "");
}

}  // namespace
}  // namespace gym
