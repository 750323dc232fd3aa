import { attrText, type Doc, type DocNode, eachBlock, holdsInline } from './model/model.js';

/** The targets that a document refers to, without duplicates, in order of appearance. */
interface References {
  /** Ids of resources that it links to or embeds. */
  readonly resources: string[];
  /** Targets of `[[…]]` links. */
  readonly pages: string[];
  /** Ids of the people that it mentions. */
  readonly users: string[];
  /** Ids of resources that it shows as images or files; `resources` includes them. */
  readonly attachments: string[];
}

const RESOURCE = /^resource:([\w-]{1,64})(?:[#?/].*)?$/;
const USER = /^user:([\w-]{1,64})$/;

export function references(doc: Doc): References {
  const sets = {
    resources: new Set<string>(),
    pages: new Set<string>(),
    users: new Set<string>(),
    attachments: new Set<string>(),
  };
  const address = (value: string, attached: boolean): void => {
    const id = RESOURCE.exec(value)?.[1];
    const user = USER.exec(value)?.[1];
    if (id !== undefined) sets.resources.add(id);
    if (id !== undefined && attached) sets.attachments.add(id);
    if (user !== undefined) sets.users.add(user);
  };
  const visit = (node: DocNode): void => {
    const attached = node.type === 'image' || node.type === 'file';
    for (const name of ['src', 'url', 'href']) address(attrText(node, name), attached);
    const id = attrText(node, 'resource_id');
    if (id !== '') address(`resource:${id}`, attached);
    if (node.type === 'mention' && attrText(node, 'user_id') !== '') sets.users.add(attrText(node, 'user_id'));
    if (node.type === 'wiki_link') page(attrText(node, 'target'));
    for (const mark of node.marks ?? []) if (mark.type === 'link') address(attrText(mark, 'href'), false);
  };
  const page = (target: string): void => {
    if (RESOURCE.test(target)) address(target, false);
    else sets.pages.add(target);
  };
  eachBlock(doc, (block) => {
    visit(block);
    if (block.content !== undefined && holdsInline(block)) for (const node of block.content) visit(node);
  });
  const list = (set: Set<string>) => [...set];
  return {
    resources: list(sets.resources),
    pages: list(sets.pages),
    users: list(sets.users),
    attachments: list(sets.attachments),
  };
}
