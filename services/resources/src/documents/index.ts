export { commentHtml } from './comment.js';
export type { Warning } from './html/sanitise.js';
export { type HtmlOptions, toHtml } from './html/write.js';
export { parseMarkdown } from './markdown/read.js';
export { toMarkdown } from './markdown/write.js';
export {
  countBlocks,
  type Doc,
  type DocNode,
  MAX_BLOCKS,
  MAX_DEPTH,
  MAX_JSON_BYTES,
  MAX_MARKDOWN_BYTES,
} from './model.js';
export { countWords, parseText, toText } from './text.js';
