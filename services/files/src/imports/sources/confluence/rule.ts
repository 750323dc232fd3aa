import { dictionary } from '@commonplace/kit/dictionary';
import { element, type Rule } from '../html/clean.js';
import { childrenOf, type Element, find, findNamed, hasClass, type Node, textOf, withChildren } from '../html/dom.js';

/** Callout kinds by Confluence's names for message boxes. */
const KINDS: Readonly<Record<string, string>> = dictionary({
  information: 'note',
  tip: 'tip',
  note: 'important',
  warning: 'warning',
});

function boxOf(box: Element): Node[] {
  const name =
    /information-macro-(information|tip|note|warning)/.exec(box.attributes.class ?? '')?.[1] ?? 'information';
  const title = find(box, (inner) => hasClass(inner, 'title'));
  const body = find(box, (inner) => hasClass(inner, 'confluence-information-macro-body'));
  const content = body?.children ?? box.children;
  const head =
    title === undefined || body === undefined || textOf(title) === ''
      ? []
      : [element('p', {}, element('strong', {}, textOf(title)))];
  return [element('aside', { 'data-callout': KINDS[name] ?? 'note' }, head, content)];
}

function panelOf(panel: Element): Node[] | undefined {
  const head = childrenOf(panel).find((inner) => hasClass(inner, 'panelHeader'));
  const body = childrenOf(panel).find((inner) => hasClass(inner, 'panelContent'));
  if (body === undefined) return undefined;
  const title = textOf(head);
  const named = title === '' ? [] : [element('p', {}, element('strong', {}, title))];
  if (hasClass(panel, 'code') || hasClass(panel, 'preformatted')) return [...named, ...body.children];
  return [element('aside', { 'data-callout': 'note' }, named, body.children)];
}

function codeOf(pre: Element): Node[] | undefined {
  const language = /brush:\s*([\w+#.-]+)/i.exec(pre.attributes['data-syntaxhighlighter-params'] ?? '')?.[1];
  if (language === undefined || pre.attributes['data-language'] !== undefined) return undefined;
  return [element('pre', { 'data-language': language.toLowerCase() }, pre.children)];
}

function expandOf(box: Element): Node[] | undefined {
  const body = find(box, (inner) => hasClass(inner, 'expand-content'));
  if (body === undefined) return undefined;
  const words = textOf(find(box, (inner) => hasClass(inner, 'expand-control-text'))) || 'More';
  return [element('details', {}, element('summary', {}, words), body.children)];
}

function tasksOf(list: Element): Node[] {
  const items = childrenOf(list).map((item) =>
    withChildren(item, [
      element('input', hasClass(item, 'checked') ? { type: 'checkbox', checked: '' } : { type: 'checkbox' }),
      ...item.children,
    ]),
  );
  return [element('ul', {}, items)];
}

function imageOf(image: Element): Node[] | undefined {
  const { attributes } = image;
  if (hasClass(image, 'emoticon')) return [attributes['data-emoji-fallback'] || attributes.alt || ''];
  const whole = attributes['data-image-src'];
  // Replaces a thumbnail by the full image, which the export contains as well.
  if (whole === undefined || !/thumbnail/.test(attributes.src ?? '') || whole === attributes.src) return undefined;
  return [element('img', { ...attributes, src: whole.replace(/\?.*$/, ''), alt: attributes.alt ?? '' })];
}

/** Names a link after its file when it shows nothing but an icon of the file type. */
function fileLinkOf(link: Element): Node[] | undefined {
  const image = findNamed(link, 'img');
  const name =
    link.attributes['data-linked-resource-default-alias'] ?? image?.attributes['data-linked-resource-default-alias'];
  if (name === undefined || textOf(link) !== '') return undefined;
  return [element('a', { href: link.attributes.href ?? '' }, name)];
}

/** Converts the elements of a Confluence page to those of a document. */
export const confluenceRule: Rule = (node) => {
  const { name } = node;
  if (hasClass(node, 'confluence-information-macro')) return boxOf(node);
  if (hasClass(node, 'panel')) return panelOf(node);
  if (hasClass(node, 'expand-container')) return expandOf(node);
  if (name === 'pre') return codeOf(node);
  if (name === 'ul' && hasClass(node, 'inline-task-list')) return tasksOf(node);
  if (name === 'img') return imageOf(node);
  if (name === 'a' && hasClass(node, 'confluence-userlink'))
    return [textOf(node).startsWith('@') ? textOf(node) : `@${textOf(node)}`];
  if (name === 'a' && hasClass(node, 'confluence-embedded-file')) return fileLinkOf(node);
  if (hasClass(node, 'toc-macro') || hasClass(node, 'expand-control-icon')) return 'drop';
  return undefined;
};
