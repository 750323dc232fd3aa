/** Decides what a reply may contain besides plain text. */
interface ReplyRules {
  /** Returns the marker for a source that the model cites by number; undefined if there is no such source. */
  cite(source: number): number | undefined;
  /** Returns whether links to a host are allowed. */
  allowsHost(host: string): boolean;
}

/**
 * Rewrites a reply while it is written, so that the stored text equals the sent one. Outside of code: citations become
 * markers, and those without a source are removed; only images of resources stay images, others become links; links and
 * URLs to hosts that the rules do not allow become code; HTML is escaped. Text is held back only until its meaning is
 * clear.
 */
export class ReplyFilter {
  private held = '';
  private fence: string | undefined;
  private atLineStart = true;

  constructor(private readonly rules: ReplyRules) {}

  /** Adds text of the model, and returns the part that can be sent. */
  push(text: string): string {
    this.held += text;
    return this.drain(false);
  }

  /** Returns the rest of the text when the model has finished. */
  end(): string {
    return this.drain(true);
  }

  private drain(final: boolean): string {
    let out = '';
    for (;;) {
      const part = this.next(final);
      if (part === undefined) return out;
      out += part;
    }
  }

  /** Removes the next piece from the held text, and returns it rewritten; undefined if more text is needed. */
  private next(final: boolean): string | undefined {
    if (this.held === '') return undefined;
    if (this.atLineStart || this.fence !== undefined) {
      const line = this.nextFenceLine(final);
      if (line !== PLAIN) return line;
    }
    const stop = this.held.search(STOP);
    if (stop !== 0) return this.nextPlain(stop < 0 ? this.held.length : stop, stop < 0 && !final);
    if (this.held[0] === '\n') return this.take(1, '\n');
    const piece = this.special(final || this.held.length > MAX_HELD);
    return piece === undefined ? undefined : this.take(piece.length, piece.text);
  }

  /** Returns text without markup. A possible beginning of a URL is held back. */
  private nextPlain(length: number, isOpen: boolean): string | undefined {
    const text = this.held.slice(0, length);
    const ready = isOpen ? text.slice(0, length - (PARTIAL.exec(text)?.[0].length ?? 0)) : text;
    return ready === '' ? undefined : this.take(ready.length, ready);
  }

  private take(length: number, text: string): string {
    this.atLineStart = this.held[length - 1] === '\n';
    this.held = this.held.slice(length);
    return text;
  }

  /** Returns a line that opens, closes or is inside a fenced code block; PLAIN if it is not such a line. */
  private nextFenceLine(final: boolean): string | undefined | typeof PLAIN {
    const end = this.held.indexOf('\n');
    const line = end < 0 ? this.held : this.held.slice(0, end + 1);
    const isWhole = end >= 0 || final;
    if (this.fence === undefined) {
      const couldOpen = /^ {0,3}(`*|~*)$/.test(line) || /^ {0,3}(`{3,}|~{3,})/.test(line);
      if (!couldOpen) return PLAIN;
      if (!isWhole) return line.length > MAX_HELD ? PLAIN : undefined;
      const opened = /^ {0,3}(`{3,}|~{3,})([^\n]*)/.exec(line);
      if (opened === null || (opened[1]?.startsWith('`') && opened[2]?.includes('`'))) return PLAIN;
      this.fence = opened[1];
      return this.take(line.length, line);
    }
    if (!isWhole && (!this.atLineStart || !/^ {0,3}[`~]*\s*$/.test(line))) return this.take(line.length, line);
    if (!isWhole) return undefined;
    const closed = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line)?.[1];
    if (this.atLineStart && closed?.startsWith(this.fence)) this.fence = undefined;
    return this.take(line.length, line);
  }

  /** Rewrites the construct that begins at a special character; undefined if more text is needed. */
  private special(final: boolean): Piece | undefined {
    const { held } = this;
    const [first, second] = [held[0] as string, held[1]];
    if (first === '\\') {
      if (second === undefined && !final) return undefined;
      return { length: second === undefined ? 1 : 2, text: held.slice(0, 2) };
    }
    if (first === '`') return codeSpan(held.slice(0, MAX_HELD), final);
    if (first === '!') {
      if (second === undefined && !final) return undefined;
      return second === '[' ? this.bracket(1, final) : { length: 1, text: '!' };
    }
    if (first === '[') return this.bracket(0, final);
    if (first === '<') return this.angle(final);
    const url = urlAt(held, final);
    return url && { length: url.length, text: this.showUrl(url.text) };
  }

  private showUrl(url: string): string {
    const bare = /[.,;:!?]+$/.exec(url)?.[0] ?? '';
    const target = url.slice(0, url.length - bare.length);
    return (this.allows(target) ? target : code(target)) + bare;
  }

  /** Rewrites an autolink, or escapes HTML. */
  private angle(final: boolean): Piece | undefined {
    const { held } = this;
    const link = /^<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>/i.exec(held);
    if (link !== null) {
      const target = link[1] as string;
      return { length: link[0].length, text: this.allows(target) ? link[0] : code(target) };
    }
    if (!final && /^<(?:[a-z][a-z0-9+.-]*:?[^\s<>]*)?$/i.test(held)) return undefined;
    return { length: 1, text: /^<[a-z/!?]/i.test(held) ? '\\<' : '<' };
  }

  /** Rewrites a citation, a link or an image; `skipped` is the number of characters before the bracket. */
  private bracket(skipped: number, final: boolean): Piece | undefined {
    const { held } = this;
    const lead = held.slice(0, skipped);
    const close = closing(held, skipped, '[', ']', MAX_LABEL);
    if (close === undefined) {
      const needsMore = !final && held.length - skipped <= MAX_LABEL;
      return needsMore ? undefined : { length: skipped + 1, text: `${lead}[` };
    }
    const label = held.slice(skipped + 1, close);
    const after = held[close + 1];
    if (after === undefined && !final) return undefined;
    if (after === '(') return this.link(skipped, label, close + 1, final);
    if (skipped === 0 && CITATION.test(label)) return { length: close + 1, text: this.citations(label) };
    if (after === ':' && this.atLineStart && skipped === 0) return this.definition(label, close + 2, final);
    return { length: skipped + 1, text: `${lead}[` };
  }

  private link(skipped: number, label: string, open: number, final: boolean): Piece | undefined {
    const { held } = this;
    const close = closing(held, open, '(', ')', MAX_TARGET);
    if (close === undefined) {
      if (!final && held.length - open <= MAX_TARGET) return undefined;
      // A link that never ends is not a link, and its target must not become one.
      return { length: open + 1, text: `${this.inner(label)} \\(` };
    }
    const inside = held.slice(open + 1, close).trim();
    const target = /^<([^>]*)>/.exec(inside)?.[1] ?? inside.split(/\s/)[0] ?? '';
    const isImage = skipped === 1;
    const text = this.inner(label);
    if (isImage && RESOURCE.test(target)) return { length: close + 1, text: `![${text}](${target})` };
    if (this.allows(target)) return { length: close + 1, text: `[${text || target}](${target})` };
    return { length: close + 1, text: text === '' || label === target ? code(target) : `${text} ${code(target)}` };
  }

  /** Rewrites a link reference definition. */
  private definition(label: string, from: number, final: boolean): Piece | undefined {
    const rest = this.held.slice(from);
    const found = /^[ \t]*\n?[ \t]*(\S+)(?=\s)/.exec(rest) ?? (final ? /^[ \t]*\n?[ \t]*(\S+)$/.exec(rest) : null);
    if (found === null) return !final && rest.length < MAX_TARGET ? undefined : { length: from, text: `\\[${label}]:` };
    const target = (found[1] as string).replace(/^<|>$/g, '');
    const text = this.allows(target) ? `[${label}]:${found[0]}` : `\\[${label}]: ${code(target)}`;
    return { length: from + found[0].length, text };
  }

  private citations(label: string): string {
    const markers = label
      .split(',')
      .map((number) => this.rules.cite(Number(number)))
      .filter((marker) => marker !== undefined);
    return [...new Set(markers)].map((marker) => `[${marker}]`).join('');
  }

  /** Rewrites the text of a link. */
  private inner(label: string): string {
    const filter = new ReplyFilter({ ...this.rules, cite: () => undefined, allowsHost: () => false });
    filter.atLineStart = false;
    return filter.push(label) + filter.end();
  }

  private allows(target: string): boolean {
    if (RESOURCE.test(target) || /^#[\w-]*$/.test(target)) return true;
    if (!/^https?:\/\/[^\s\\@]*$/i.test(target)) return false;
    const host = hostOf(target);
    return host !== undefined && this.rules.allowsHost(host);
  }
}

/** Returns the host of an HTTP URL in lower case; undefined if the text is not a URL. */
function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host.toLowerCase() : undefined;
}

/** Returns the hosts of all HTTP URLs in a text. */
export function hostsIn(text: string): Set<string> {
  const hosts = (text.match(/https?:\/\/[^\s<>"'`\\)\]]+/gi) ?? []).map(hostOf);
  return new Set(hosts.filter((host) => host !== undefined));
}

interface Piece {
  /** Number of characters of the held text that it replaces. */
  readonly length: number;
  readonly text: string;
}

const PLAIN = Symbol('plain');
/** The beginning of a construct: markup, a line, or a URL that renderers turn into a link. */
const STOP = /[`[!<\\\n]|(?<![a-z0-9])(?:https?:\/\/|ftp:\/\/|www\.)/i;
/** The end of a text that may be the beginning of such a URL, or the first half of a surrogate pair. */
const PARTIAL = /(?<![a-z0-9])(h|ht|htt|https?|https?:|https?:\/|f|ft|ftp|ftp:|ftp:\/|w|ww|www)$|([\uD800-\uDBFF])$/i;
const MAX_HELD = 4_000;
const MAX_LABEL = 1_000;
const MAX_TARGET = 2_000;
const CITATION = /^\s*\d{1,4}(\s*,\s*\d{1,4})*\s*$/;
const RESOURCE = /^resource:[0-9a-f-]{36}$/i;

const code = (text: string): string => `\`${text.replace(/[`\s]+/g, ' ').trim()}\``;

/** Returns the URL at the beginning of a text; undefined if more text is needed to find its end. */
function urlAt(text: string, final: boolean): Piece | undefined {
  const url = /^[a-z]+[^\s<>"'`\\)\]]+/i.exec(text)?.[0] ?? text;
  return url.length < text.length || final ? { length: url.length, text: url } : undefined;
}

/** Returns the code span at the beginning of a text, or its escaped backticks if no span ends in this paragraph. */
function codeSpan(text: string, final: boolean): Piece | undefined {
  const ticks = /^`+/.exec(text)?.[0] ?? '';
  if (ticks.length === text.length && !final) return undefined;
  const paragraph = text.search(/\n[ \t]*\n/);
  const within = paragraph < 0 ? text : text.slice(0, paragraph);
  for (let from = ticks.length; ; ) {
    const at = within.indexOf(ticks, from);
    if (at < 0) break;
    const run = /^`+/.exec(within.slice(at))?.[0].length ?? 0;
    if (at + run === text.length && !final) return undefined;
    if (run === ticks.length) return { length: at + run, text: text.slice(0, at + run) };
    from = at + run;
  }
  return paragraph < 0 && !final ? undefined : { length: ticks.length, text: '\\`'.repeat(ticks.length) };
}

/**
 * Returns the index of a closing bracket, at most `max` characters on, skipping nested pairs and escapes; undefined if
 * there is none.
 */
function closing(text: string, open: number, opens: string, closes: string, max: number): number | undefined {
  let depth = 0;
  for (let at = open; at < text.length && at - open <= max; at++) {
    const char = text[at];
    if (char === '\\') at++;
    else if (char === opens) depth++;
    else if (char === closes && --depth === 0) return at;
    else if (char === '\n' && text[at + 1] === '\n') return undefined;
  }
  return undefined;
}
