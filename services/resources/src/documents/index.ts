export { type Anchor, findAnchors, type Place } from './anchors.js';
export { commentDerivation } from './comment.js';
export { appendMarkdown, applyEdits, prependMarkdown } from './edits.js';
export { parseHtml } from './html/read.js';
export type { Warning } from './html/sanitise.js';
export { toHtml } from './html/write.js';
export { applyBlockIds, blockIds, withBlockIds } from './ids/assign.js';
export { readDoc } from './json/read.js';
export { toJson } from './json/write.js';
export { parseMarkdown } from './markdown/read.js';
export { toMarkdown } from './markdown/write.js';
export {
  countBlocks,
  type Doc,
  type DocNode,
  MAX_BLOCKS,
  MAX_DEPTH,
} from './model/model.js';
export { countWords, parseText, toText } from './model/text.js';
export { hiddenWords, NO_ACCESS, withoutPlaceholders, withPlaceholders } from './placeholders.js';
export { type BlockMap, blockAt, mapBlocks, mapBlocksOfDoc } from './places.js';
export { plainText } from './plain.js';
export {
  namedResources,
  type PublicLinks,
  type PublishedHtml,
  publishedHtml,
  publishedMarkdown,
} from './published.js';
export { references } from './references.js';
