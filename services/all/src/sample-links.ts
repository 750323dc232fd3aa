import { posix } from 'node:path';

/** A link or an image in a Markdown text. */
interface MarkdownLink {
  readonly isImage: boolean;
  readonly target: string;
}

/** Matches code, which is left unchanged, or a link with its text and target. */
const CODE_OR_LINK = /^```[\s\S]*?^```|(!?)\[((?:`[^`\n]*`|!\[[^\]]*\]\([^)]*\)|[^\]`])*)\]\(([^)\s]+)\)|`[^`\n]*`/gm;
const ABSOLUTE = /^(?:[a-z][a-z\d+.-]*:|#|\/)/i;

/** Returns the links and images of a Markdown text, except those inside code. */
export function linksIn(text: string): MarkdownLink[] {
  return [...text.matchAll(CODE_OR_LINK)].flatMap(([, mark, , target]) =>
    target === undefined ? [] : [{ isImage: mark === '!', target }],
  );
}

/** Resolves a relative target against the file that contains it. The path is relative to the project's root. */
export function pathFrom(file: string, target: string): { readonly path: string; readonly fragment: string } {
  const at = target.indexOf('#');
  const path = at < 0 ? target : target.slice(0, at);
  return { path: posix.join(posix.dirname(file), path), fragment: at < 0 ? '' : target.slice(at) };
}

/**
 * Replaces relative links of a file with links to resources. `ids` maps the files' paths to resource ids. A link to
 * anything else becomes plain text.
 */
export function withResourceLinks(file: string, text: string, ids: ReadonlyMap<string, string>): string {
  return text.replace(CODE_OR_LINK, (whole: string, mark: string, words: string, target: string | undefined) => {
    if (target === undefined || ABSOLUTE.test(target)) return whole;
    const { path, fragment } = pathFrom(file, target);
    const id = ids.get(path);
    return id === undefined ? words : `${mark}[${words}](resource:${id}${fragment})`;
  });
}
