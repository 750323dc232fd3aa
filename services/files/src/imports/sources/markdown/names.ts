const PAGE = /\.(?:md|markdown|mdx|mdown)$/i;
const IMAGE = /\.(?:png|jpe?g|gif|svg|webp|avif|bmp|ico|tiff?|heic)$/i;
const INDEX = /^(?:index|_index|readme)$/i;

/** Files that operating systems and Git leave in folders. */
const JUNK = /(?:^|\/)(?:__MACOSX\/|\.DS_Store$|Thumbs\.db$|desktop\.ini$|\.git\/)/i;

export function isPage(path: string): boolean {
  return PAGE.test(path);
}

export function isImage(path: string): boolean {
  return IMAGE.test(path);
}

export function isJunk(path: string): boolean {
  return JUNK.test(path);
}

/** `a/b/c.md` → `c.md`. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** `a/b/c.md` → `a/b`; empty at the top. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** Returns whether a page represents its folder: `index.md`, `README.md`. */
export function isIndex(path: string): boolean {
  return isPage(path) && INDEX.test(baseName(path).replace(PAGE, ''));
}

/** Returns the name of a page by its path; an index is named after its folder. */
export function nameOfPage(path: string): string {
  const own = baseName(path).replace(PAGE, '');
  return isIndex(path) && folderOf(path) !== '' ? baseName(folderOf(path)) : own;
}
