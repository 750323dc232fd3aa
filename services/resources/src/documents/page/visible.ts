import { escapeHtml } from '@commonplace/kit/html';
import { lazyLibrary } from '@commonplace/kit/library';
import { createNestingGuard } from '../html/nesting.js';
import { CLEAR, colourIn, coloursOf, hides, parseStyle, type Style, WHITE } from './styles.js';

const library = lazyLibrary<typeof import('htmlparser2')>('htmlparser2', import.meta.url);

type Attributes = Readonly<Record<string, string>>;

interface VisiblePage {
  /** The page without content that its readers do not see. */
  readonly html: string;
  readonly title: string;
}

/** Attributes that are kept. Attributes with text that is not shown, such as `alt` and `title`, are removed. */
const KEPT: readonly string[] = ['href', 'start', 'colspan', 'rowspan', 'align', 'class', 'type', 'checked'];
const SILENT = new Set(
  'script style template noscript iframe object embed applet svg math canvas audio video img picture source map select textarea datalist head link meta'.split(
    ' ',
  ),
);
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));

/** Simple selectors (`.name`, `#id` and `tag`) of the elements that a page's style sheets hide. */
type HiddenSelectors = ReadonlySet<string>;

interface Open {
  readonly name: string;
  readonly isHidden: boolean;
  readonly text: string | undefined;
  readonly background: string | undefined;
}

/**
 * Removes text that readers of a page do not see but a model would read: comments, hidden and tiny elements, text in
 * the colour of its background, texts of attributes. Evaluates only inline styles and simple selectors of the page's
 * own style sheets. Throws NestedTooDeep.
 */
export function visiblePage(html: string): VisiblePage {
  const hidden = hiddenSelectors(html);
  const nesting = createNestingGuard();
  const out: string[] = [];
  const open: Open[] = [];
  let title = '';
  let titles = 0;
  let silent = 0;
  const parser = new (library().Parser)({
    onopentag(name, attributes) {
      nesting.onOpen();
      if (name === 'title') titles += 1;
      const element = opened(name, attributes, open.at(-1), hidden);
      open.push(element);
      if (element.isHidden) silent += 1;
      if (silent > 0) return;
      out.push(`<${name}${keptIn(attributes)}>`);
    },
    ontext(text) {
      if (titles === 1 && open.at(-1)?.name === 'title') title += text;
      else if (silent === 0 && isLegible(open.at(-1))) out.push(escapeHtml(text));
    },
    onclosetag(name) {
      nesting.onClose();
      const element = open.pop();
      if (silent === 0 && !VOID.has(name)) out.push(`</${name}>`);
      if (element?.isHidden) silent -= 1;
    },
  });
  parser.end(html);
  return { html: out.join(''), title: title.replace(/\s+/g, ' ').trim() };
}

function opened(name: string, attributes: Attributes, parent: Open | undefined, hidden: HiddenSelectors): Open {
  const style = parseStyle(attributes.style ?? '');
  const colours = coloursOf(style);
  const isHidden =
    SILENT.has(name) ||
    name === 'title' ||
    attributes.hidden !== undefined ||
    attributes['aria-hidden'] === 'true' ||
    (name === 'input' && attributes.type !== 'checkbox') ||
    hides(style) ||
    hidesBySheet(name, attributes, hidden);
  return {
    name,
    isHidden,
    text: colours.text ?? colourIn(name === 'font' ? attributes.color : undefined) ?? parent?.text,
    background: backgroundOf(colours.background ?? colourIn(attributes.bgcolor), style) ?? parent?.background,
  };
}

/** Returns the background that an element sets; one with an image may have any colour. */
function backgroundOf(colour: string | undefined, style: Style): string | undefined {
  const image = style.get('background-image') ?? style.get('background') ?? '';
  if (/url\(|gradient\(/.test(image)) return 'other';
  return colour === CLEAR ? undefined : colour;
}

/** Returns whether text differs from its background, which is white unless it is set. */
function isLegible({ text, background = WHITE }: Partial<Open> = {}): boolean {
  if (text === undefined || text === 'other') return true;
  return text !== CLEAR && text !== background;
}

function hidesBySheet(name: string, attributes: Attributes, hidden: HiddenSelectors): boolean {
  if (hidden.size === 0) return false;
  if (hidden.has(name) || hidden.has(`#${attributes.id}`)) return true;
  const classes = attributes.class?.split(/\s+/) ?? [];
  return classes.some((one) => hidden.has(`.${one}`) || hidden.has(`${name}.${one}`));
}

/** Maximum length of a page's style sheets that is evaluated, and maximum number of their rules. */
const MAX_SHEET = 256 * 1024;
const MAX_RULES = 5_000;

function hiddenSelectors(html: string): HiddenSelectors {
  const sheet = styleSheetOf(html);
  const found = new Set<string>();
  for (const rule of sheet.split('}').slice(0, MAX_RULES)) {
    const brace = rule.lastIndexOf('{');
    if (brace < 0 || rule.lastIndexOf('{', brace - 1) >= 0) continue;
    const style = parseStyle(rule.slice(brace + 1));
    const { text, background } = coloursOf(style);
    const isInvisible = text !== undefined && !isLegible({ text, background });
    if (!isInvisible && !hides(style)) continue;
    for (const selector of rule.slice(0, brace).split(',')) {
      const simple = selector.trim();
      if (/^[\w#.-]{1,100}$/.test(simple) && !/^(?:html|body|\*)$/i.test(simple)) found.add(simple);
    }
  }
  return found;
}

function styleSheetOf(html: string): string {
  let sheet = '';
  let depth = 0;
  const parser = new (library().Parser)({
    onopentag(name) {
      if (name === 'style') depth += 1;
    },
    ontext(text) {
      if (depth > 0 && sheet.length < MAX_SHEET) sheet += text;
    },
    onclosetag(name) {
      if (name === 'style') depth -= 1;
    },
  });
  parser.end(html);
  return withoutComments(sheet.slice(0, MAX_SHEET));
}

/** Removes the comments of a style sheet. A comment without an end extends to the end of the style sheet. */
function withoutComments(sheet: string): string {
  return sheet
    .split('/*')
    .map((part, i) => (i === 0 ? part : part.includes('*/') ? part.slice(part.indexOf('*/') + 2) : ''))
    .join(' ');
}

function keptIn(attributes: Attributes): string {
  return KEPT.map((name) => (attributes[name] === undefined ? '' : ` ${name}="${escapeHtml(attributes[name])}"`)).join(
    '',
  );
}
