import { foldName } from '@commonplace/kit/words';

/** Returns the title of a session from its first question: the first line, at most 60 characters, cut between words. */
export function titleOf(question: string): string {
  const line =
    question
      .replace(/^[#>*\s-]+/, '')
      .split('\n')[0]
      ?.trim() ?? '';
  const characters = [...line];
  if (characters.length <= MAX_TITLE) return line || DEFAULT_TITLE;
  const head = characters.slice(0, MAX_TITLE - 1).join('');
  return `${head.slice(0, Math.max(head.lastIndexOf(' '), MAX_TITLE / 2)).trim()}…`;
}

const MAX_TITLE = 60;
export const DEFAULT_TITLE = 'New chat';

/** The title of a session, and the same folded for sorting and searches. */
interface TitleFields {
  readonly title: string;
  readonly titleFold: string;
}

export const titleFields = (title: string): TitleFields => ({ title, titleFold: foldName(title) });
