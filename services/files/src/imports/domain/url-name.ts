/** Returns the last segment of a URL's path, decoded; a malformed escape stays as it is. Empty for a URL without a path. */
export function lastSegmentOf(url: string): string {
  const last = new URL(url).pathname.split('/').findLast((part) => part !== '') ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
