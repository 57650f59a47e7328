#include "s3_list.hpp"

#include <algorithm>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <sstream>
#include <stdexcept>

namespace gym::data {
namespace {

/// A list has four levels. Boost's parser calls itself for each, and so may not be given any
/// number.
constexpr int kDepthMax = 32;

/// At least as deep as the elements of `xml` are nested.
void check_depth(const std::string& xml) {
    int depth = 0;
    for (std::size_t at = xml.find('<'); at < xml.size(); at = xml.find('<', at + 1)) {
        const std::size_t end = std::min(xml.find('>', at), xml.size());
        if (xml.compare(at, 2, "</") == 0)
            --depth;
        else if (xml[end - 1] != '/' && xml[at + 1] != '?' && xml[at + 1] != '!')
            ++depth;
        if (depth > kDepthMax) throw std::runtime_error("its elements are nested too deeply");
    }
}

}  // namespace

Result<S3Page> read_s3_page(const std::string& xml) {
    try {
        check_depth(xml);
        std::istringstream in(xml);
        boost::property_tree::ptree tree;
        boost::property_tree::read_xml(in, tree);
        S3Page out;
        const auto& list = tree.get_child("ListBucketResult");
        for (const auto& [name, part] : list) {
            if (name != "Contents") continue;
            const auto size = part.get<std::int64_t>("Size", 0);
            if (size < 0) throw std::runtime_error("a size is below zero");
            out.objects.push_back({.key = part.get<std::string>("Key"),
                                   .etag = part.get<std::string>("ETag", ""),
                                   .size_bytes = static_cast<std::uint64_t>(size)});
        }
        if (list.get<std::string>("IsTruncated", "false") == "true")
            out.next = list.get<std::string>("NextContinuationToken");
        return out;
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed,
                    std::string("the server's list of objects is not S3's: ") + error.what());
    }
}

}  // namespace gym::data
