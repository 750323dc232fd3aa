import { dictionary } from '@commonplace/kit/dictionary';
import { escapeHtml } from '@commonplace/kit/html';
import { createLosses, type Losses } from '../common/warnings.js';
import { childrenOf, type Element, find, isElement, type Node, rawText, textOf } from './dom.js';

/** What replaces an element: nothing (`drop`), its content (`unwrap`), or these nodes. */
type Change = 'drop' | 'unwrap' | readonly Node[];

/** Converts an element that is specific to a tool. Returns undefined to apply the general conversion. */
export type Rule = (element: Element, losses: Losses) => Change | undefined;

interface CleanedHtml {
  readonly html: string;
  readonly losses: Losses;
}

const DROPPED = new Set(
  'script style template noscript head title meta link base wbr map area param source track col colgroup'.split(' '),
);
const VOID = new Set(['br', 'hr', 'img', 'input']);
const INLINE = new Set(
  'strong em s u mark sub sup code kbd samp b i del ins strike cite small a span q abbr var time dfn bdi bdo ruby rb rt rp'.split(
    ' ',
  ),
);
const BLOCKS = new Set(
  'h1 h2 h3 h4 h5 h6 p div section article aside header footer main hr br blockquote pre ul ol li dl dt dd figure figcaption details summary input table caption thead tbody tfoot tr th td img'.split(
    ' ',
  ),
);
/** Elements that form a block of their own but are not kept. */
const LINES = new Set(
  'address body center dialog fieldset form html legend menu nav option optgroup search hgroup'.split(' '),
);

const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = dictionary({
  a: ['href', 'title'],
  img: ['src', 'alt', 'title', 'width', 'height'],
  ol: ['start'],
  td: ['colspan', 'rowspan', 'align'],
  th: ['colspan', 'rowspan', 'align'],
  input: ['type', 'checked'],
  time: ['datetime'],
});
/** Attributes by which documents recognize special elements. */
const KNOWN = ['data-callout', 'data-math'];
/** Characters of an inline (`data:`) image beyond which it is dropped, as in documents. */
const MAX_DATA_IMAGE = 32 * 1024;

/** Elements that a rule has created, to which no rule is applied again. */
const MADE = new WeakSet<Element>();

export function element(
  name: string,
  attributes: Record<string, string>,
  ...children: (Node | readonly Node[])[]
): Element {
  const made = { name, attributes, children: children.flat() as Node[] };
  MADE.add(made);
  return made;
}

const link = (href: string, words: string): Element => element('a', { href }, words);

/** Characters of a style attribute that are evaluated. */
const MAX_STYLE = 2000;

function styleMarks(whole: string): string[] {
  const style = whole.slice(0, MAX_STYLE);
  const marks: string[] = [];
  if (/font-weight:\s*(?:bold|bolder|[6-9]00)/i.test(style)) marks.push('strong');
  if (/font-style:\s*(?:italic|oblique)/i.test(style)) marks.push('em');
  if (/text-decoration[^;:]*:[^;]*line-through/i.test(style)) marks.push('s');
  if (/text-decoration[^;:]*:[^;]*underline/i.test(style)) marks.push('u');
  if (/vertical-align:\s*super/i.test(style)) marks.push('sup');
  if (/vertical-align:\s*sub(?![a-z-])/i.test(style)) marks.push('sub');
  return marks;
}

/** Returns the URL of embedded content, and a text for the link to it. */
function shown({ name, attributes, children }: Element): { href: string; words: string } | undefined {
  const own = name === 'object' ? attributes.data : attributes.src;
  const inner = children.filter(isElement).find((child) => child.name === 'source')?.attributes.src;
  const href = own || inner;
  if (href === undefined || href === '' || /^(?:javascript|data|about|blob):/i.test(href.trim())) return undefined;
  return { href, words: attributes.title || attributes['aria-label'] || href };
}

/** Returns the TeX source of a MathML formula, if it is included. */
export function texOf(math: Element): string | undefined {
  const note = find(math, ({ name, attributes }) => name === 'annotation' && /tex/i.test(attributes.encoding ?? ''));
  const tex = note === undefined ? (math.attributes.alttext ?? '') : rawText(note);
  return tex.trim() === '' ? undefined : tex.trim();
}

export const mathNode = (tex: string, block: boolean): Element =>
  element(block ? 'div' : 'span', { 'data-math': block ? 'block' : 'inline' }, tex);

function mathOf(math: Element, losses: Losses): Change {
  const tex = texOf(math);
  if (tex !== undefined) return [mathNode(tex, math.attributes.display === 'block')];
  losses.add('A formula without TeX is imported as plain text');
  return [textOf(math)];
}

const EMBEDS = new Set(['iframe', 'video', 'audio', 'embed', 'object', 'frame']);

/** Applies the conversion that holds for the HTML of any tool. */
function general(node: Element, losses: Losses): Change | undefined {
  const { name, attributes } = node;
  if (DROPPED.has(name)) return 'drop';
  if (name === 'math') return mathOf(node, losses);
  if (EMBEDS.has(name)) {
    const target = shown(node);
    const inside = node.children.filter((child) => isElement(child) && child.name !== 'source');
    if (target === undefined) {
      losses.add(`An embedded element (<${name}>) without an address is left out`);
      return inside;
    }
    return [element('p', {}, link(target.href, target.words))];
  }
  if (name === 'svg' || name === 'canvas') {
    const words = textOf(node);
    losses.add('A drawing in the page is left out');
    return words === '' ? 'drop' : [words];
  }
  if (name === 'input' && attributes.type !== 'checkbox') {
    if (attributes.value) losses.add('The value of a form field is imported as plain text');
    return attributes.value && !/^(?:hidden|password)$/.test(attributes.type ?? '') ? [attributes.value] : 'drop';
  }
  if (name === 'textarea' || name === 'select') return [element('p', {}, rawText(node))];
  if (name === 'img') return imageOf(node, losses);
  if (name === 'plaintext' || name === 'xmp' || name === 'listing') return [element('pre', {}, rawText(node))];
  return undefined;
}

function imageOf({ attributes }: Element, losses: Losses): Change | undefined {
  const src = attributes.src || attributes['data-src'] || /^\s*(\S+)/.exec(attributes.srcset ?? '')?.[1] || '';
  if (src === '') return attributes.alt ? [attributes.alt] : 'drop';
  if (/^\s*data:/i.test(src) && src.length > MAX_DATA_IMAGE) {
    losses.add('An image embedded in the page and larger than 24 KiB is left out');
    return attributes.alt ? [attributes.alt] : 'drop';
  }
  return src === attributes.src ? undefined : [element('img', { ...attributes, src })];
}

function attributesOf({ name, attributes }: Element): string {
  let out = '';
  const put = (key: string, value: string) => {
    out += ` ${key}="${escapeHtml(value)}"`;
  };
  for (const key of ATTRIBUTES[name] ?? []) if (attributes[key] !== undefined) put(key, attributes[key]);
  for (const key of KNOWN) if (attributes[key] !== undefined) put(key, attributes[key]);
  if (/^fn(?:ref)?-/.test(attributes.id ?? '')) put('id', attributes.id ?? '');
  if ((name === 'td' || name === 'th') && attributes.align === undefined) {
    const side = /text-align:\s*(left|center|right)/i.exec((attributes.style ?? '').slice(0, MAX_STYLE))?.[1];
    if (side !== undefined) put('align', side.toLowerCase());
  }
  const language =
    name === 'code'
      ? /(?:^|\s)(?:language|lang|highlight-source|brush:)-?([\w+#.-]+)/i.exec(attributes.class ?? '')?.[1]
      : undefined;
  if (language !== undefined) put('class', `language-${language}`);
  return out;
}

/** Writes nodes as plain HTML, applying the tool's rule first and then the general conversion. */
export function cleanHtml(nodes: readonly Node[], rule: Rule = () => undefined, losses = createLosses()): CleanedHtml {
  const out: string[] = [];

  function writeAll(children: readonly Node[]): void {
    for (const child of children) write(child);
  }

  function wrapped(marks: readonly string[], children: readonly Node[]): void {
    for (const mark of marks) out.push(`<${mark}>`);
    writeAll(children);
    for (const mark of [...marks].reverse()) out.push(`</${mark}>`);
  }

  function write(node: Node): void {
    if (!isElement(node)) {
      out.push(escapeHtml(node));
      return;
    }
    const change = (MADE.has(node) ? undefined : rule(node, losses)) ?? general(node, losses);
    if (change === 'drop') return;
    if (change === 'unwrap') writeAll(node.children);
    else if (change !== undefined) writeAll(change);
    else writeElement(node);
  }

  function writeElement(node: Element): void {
    const { name, attributes, children } = node;
    if (name === 'pre') {
      writeCode(node);
      return;
    }
    const marks = INLINE.has(name) || name === 'font' ? styleMarks(attributes.style ?? '') : [];
    if (VOID.has(name)) out.push(`<${name}${attributesOf(node)}>`);
    else if (name === 'span' || name === 'font') {
      const known = attributesOf(node);
      if (known !== '') out.push(`<span${known}>`);
      wrapped(marks, children);
      if (known !== '') out.push('</span>');
    } else if (name === 'a' && attributes.href === undefined) wrapped(marks, children);
    else if (INLINE.has(name) || BLOCKS.has(name)) {
      out.push(`<${name}${attributesOf(node)}>`);
      wrapped(marks, children);
      out.push(`</${name}>`);
    } else if (LINES.has(name) || name.includes('-')) {
      out.push('<div>');
      writeAll(children);
      out.push('</div>');
    } else writeAll(children);
  }

  /** Writes code with its line ends, and with the language that the inner or the outer element names. */
  function writeCode(node: Element): void {
    const inner = childrenOf(node).find(({ name }) => name === 'code');
    const language = [inner, node].flatMap((holder) => languageOf(holder) ?? [])[0];
    const kind = language === undefined ? '' : ` class="language-${escapeHtml(language)}"`;
    out.push(`<pre><code${kind}>${escapeHtml(codeText(node))}</code></pre>`);
  }

  writeAll(nodes);
  return { html: out.join(''), losses };
}

/** Returns the language of a code block, from the classes and attributes that tools use. */
function languageOf(holder: Element | undefined): string | undefined {
  if (holder === undefined) return undefined;
  const { class: classes = '', 'data-language': data, lang } = holder.attributes;
  const named = /(?:^|\s)(?:language|lang|highlight-source)-([\w+#.-]+)/i.exec(classes)?.[1];
  return named ?? data ?? (holder.name === 'pre' ? undefined : lang);
}

/** Returns the text of code, with `<br>` as a line end. */
function codeText(node: Node): string {
  if (!isElement(node)) return node;
  return node.name === 'br' ? '\n' : node.children.map(codeText).join('');
}

/** Returns whether nodes contain nothing visible. */
export const isBlank = (nodes: readonly Node[]): boolean =>
  nodes.every((node) =>
    isElement(node)
      ? !/^(?:img|hr|input|iframe|video|audio|embed|object)$/.test(node.name) && isBlank(node.children)
      : node.trim() === '',
  );
