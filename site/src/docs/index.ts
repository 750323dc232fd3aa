export { HOME_LINKS, homePage } from './home.js';
export { createLibrary } from './library.js';
export { docsHtml } from './markdown.js';
export { API_TITLE, createDocs, DOCS_CSP, type DocPage, docFile, OPENAPI_PATH } from './pages.js';
