// sharp_recompress.js INPUT OUTPUT QUALITY: sharp's jpeg(), file by file in one thread.
const fs = require('fs');
const path = require('path');
const sharp = require('sharp');

async function recompressAll(source, target, quality) {
  for (const entry of fs.readdirSync(source, {recursive: true, withFileTypes: true})) {
    if (!entry.isFile()) continue;
    const from = path.join(entry.parentPath || entry.path, entry.name);
    const to = path.join(target, path.relative(source, from));
    fs.mkdirSync(path.dirname(to), {recursive: true});
    await sharp(from).jpeg({quality}).toFile(to);
  }
}

sharp.concurrency(1);
sharp.cache(false);
const [source, target, quality] = process.argv.slice(2);
recompressAll(source, target, Number(quality));
