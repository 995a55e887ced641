// Decodes files with OpenCV in one thread: how many a second of CPU time, for each of so many turns
// after one that does not count. opencv_loop imdecode|imread TURNS FILE...
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

static double now() {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  const int flags = cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION;
  const bool reads_files = std::string(argv[1]) == "imread";
  const std::vector<std::string> paths(argv + 3, argv + argc);
  std::vector<std::vector<unsigned char>> data;
  for (const std::string &path : paths) {
    std::ifstream file(path, std::ios::binary);
    data.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  cv::setNumThreads(1);
  for (int turn = 0; turn <= std::atoi(argv[2]); ++turn) {
    const double start = now();
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const cv::Mat pixels =
          reads_files ? cv::imread(paths[i], flags) : cv::imdecode(data[i], flags);
      if (pixels.empty()) return 1;
    }
    if (turn > 0) std::printf("%.2f\n", static_cast<double>(paths.size()) / (now() - start));
  }
}
