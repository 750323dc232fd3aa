import { escapeHtml } from '@commonplace/kit/html';
/** The content of an e-mail: paragraphs of plain text, and at most one link. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly link?: { readonly label: string; readonly url: string };
}

export interface WrittenMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Renders an e-mail as plain text and as simple HTML with the same text. */
export function writeMail({ subject, paragraphs, link }: Omit<Mail, 'to'>): WrittenMail {
  const lines = link === undefined ? paragraphs : [...paragraphs, `${link.label}:\n${link.url}`];
  const blocks = paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph).replaceAll('\n', '<br>')}</p>`);
  if (link !== undefined) {
    const { label, url } = link;
    blocks.push(`<p><a href="${escapeHtml(url)}">${escapeHtml(label)}</a></p>`, `<p>${escapeHtml(url)}</p>`);
  }
  return {
    subject: oneLine(subject),
    text: `${lines.join('\n\n')}\n`,
    html: `<!doctype html>\n<html><head><meta charset="utf-8"></head><body>\n${blocks.join('\n')}\n</body></html>\n`,
  };
}

/** Replaces control characters and line breaks, which could start another header or line. */
function oneLine(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed.
  return value.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ').trim();
}
