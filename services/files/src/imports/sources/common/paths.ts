/** Returns the folder of a path; empty at the top. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Returns the last segment of a path. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Returns a file's extension in lower case, without the dot; empty when there is none. */
export const extensionOf = (path: string): string => /\.([^./]{1,10})$/.exec(nameOf(path))?.[1]?.toLowerCase() ?? '';

/** Returns the last segment of a path without its extension. */
export const stemOf = (path: string): string => nameOf(path).replace(/(?!^)\.[^./]{1,10}$/, '');

export const join = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);

/** Returns the ancestor folders of a path, outermost first. */
export function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** Returns whether a path is a file that systems and programs leave in folders, such as `.DS_Store`. */
export function isLitter(path: string): boolean {
  return path.split('/').some((part) => /^(?:__MACOSX|\.[^/]*|Thumbs\.db|desktop\.ini)$/i.test(part));
}

const IMAGES = new Set('png jpg jpeg gif webp avif svg bmp tif tiff heic ico'.split(' '));

export const isImage = (path: string): boolean => IMAGES.has(extensionOf(path));
