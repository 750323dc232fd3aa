/** Icon of the site: an arc in a rounded square. */
export const ICON_SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57d0"/><path d="M21.5 11.8a6.6 6.6 0 1 0 0 8.4" fill="none" stroke="#fff" stroke-width="3.6" stroke-linecap="round"/></svg>
`;
