import { BLOCKS, type DocNode, INLINE } from './model.js';

/** Returns whether a block of this type may hold the given blocks; one of unknown type may hold any. */
export function fits(type: string, content: readonly DocNode[]): boolean {
  const all = (...types: string[]) => content.every((node) => types.includes(node.type));
  switch (BLOCKS[type]?.holds) {
    case 'items':
      return content.length > 0 && all('list_item');
    case 'rows':
      return content.length > 0 && all('table_row');
    case 'cells':
      return content.length > 0 && all('table_cell');
    case 'columns':
      return all('column');
    case 'inline':
    case 'text':
      return false;
    case 'none':
      return content.length === 0;
    default:
      return type !== 'directive' && type !== 'doc' && !INLINE.has(type);
  }
}
