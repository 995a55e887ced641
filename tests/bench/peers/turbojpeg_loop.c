// Decodes the files named on the command line from memory to RGB, in one thread: how many a second,
// for each of so many turns after one that does not count. turbojpeg_loop TURNS FILE...
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <turbojpeg.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  unsigned char **data = calloc(argc, sizeof *data), *pixels = malloc(100 << 20);
  unsigned long *sizes = calloc(argc, sizeof *sizes);
  tjhandle decoder = tjInitDecompress();
  for (int i = 2; i < argc; ++i) {
    FILE *file = fopen(argv[i], "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return 1;
    sizes[i] = ftell(file);
    rewind(file);
    data[i] = malloc(sizes[i]);
    if (fread(data[i], 1, sizes[i], file) != sizes[i]) return 1;
    fclose(file);
  }
  for (int turn = 0; turn <= atoi(argv[1]); ++turn) {
    const double start = now();
    for (int i = 2; i < argc; ++i) {
      int width, height, subsampling, color;
      if (tjDecompressHeader3(decoder, data[i], sizes[i], &width, &height, &subsampling, &color) ||
          tjDecompress2(decoder, data[i], sizes[i], pixels, width, 0, height, TJPF_RGB, 0)) {
        return 1;
      }
    }
    if (turn > 0) printf("%.2f\n", (argc - 2) / (now() - start));
  }
  return 0;
}
