import { toHtml } from './html/write.js';
import { parseMarkdown } from './markdown/read.js';
import { toMarkdown } from './markdown/write.js';
import { toText } from './model/text.js';
import { withoutPlaceholders, withPlaceholders } from './placeholders.js';
import { references } from './references.js';

/** What is computed by parsing the body of a comment, which is Markdown. `hidden` holds ids of hidden resources. */
export const commentDerivation = {
  /** Returns sanitised HTML. */
  commentHtml: (body: string): string => toHtml(parseMarkdown(body)).html,
  /** Returns the plain text that is searched. */
  commentText: (body: string): string => toText(parseMarkdown(body)).trim(),
  /** Returns the ids of the people whom the body mentions. */
  commentMentions: (body: string): readonly string[] => references(parseMarkdown(body)).users,
  /** Returns the body with placeholders for references to hidden resources. */
  shownComment(body: string, hidden: ReadonlySet<string>): string {
    const doc = parseMarkdown(body);
    const shown = withPlaceholders(doc, hidden);
    return shown === doc ? body : toMarkdown(shown).trim();
  },
  /** Returns the body with the hidden references of the one before, whose placeholders its author has sent back. */
  disclosedComment(given: string, before: string, hidden: ReadonlySet<string>): string {
    const doc = parseMarkdown(given);
    const whole = withoutPlaceholders(doc, parseMarkdown(before), hidden);
    return whole === doc ? given : toMarkdown(whole).trim();
  },
};
