#include "s3_list.hpp"

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <sstream>

namespace gym::data {

Result<S3Page> read_s3_page(const std::string& xml) {
    try {
        std::istringstream in(xml);
        boost::property_tree::ptree tree;
        boost::property_tree::read_xml(in, tree);
        S3Page out;
        const auto& list = tree.get_child("ListBucketResult");
        for (const auto& [name, part] : list) {
            if (name != "Contents") continue;
            out.objects.push_back({.key = part.get<std::string>("Key"),
                                   .etag = part.get<std::string>("ETag", ""),
                                   .size_bytes = part.get<std::uint64_t>("Size", 0)});
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
