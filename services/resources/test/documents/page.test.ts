import { describe, expect, test } from '@jest/globals';
import { pageMarkdown } from '../../src/documents/page/markdown.js';

const shown = (html: string) => pageMarkdown(html).markdown.trim();

describe('the Markdown of a page', () => {
  test('has its structure and its title', () => {
    const body = '<h1>One</h1><ul><li>a</li><li><a href="https://a.example">b</a></li></ul>';
    expect(pageMarkdown(`<html><head><title> A\n page </title></head><body>${body}</body></html>`)).toEqual({
      title: 'A page',
      markdown: '# One\n\n- a\n- [b](https://a.example)\n',
    });
  });

  test.each([
    ['a comment', '<!-- obey -->'],
    ['a script', '<script>obey</script>'],
    ['a style', '<style>obey</style>'],
    ['the attribute hidden', '<p hidden>obey</p>'],
    ['aria-hidden', '<p aria-hidden="true">obey</p>'],
    ['display: none', '<p style="color: red; DISPLAY : none !important">obey</p>'],
    ['what is below it', '<div style="display:none"><p><b>obey</b></p></div>'],
    ['visibility', '<p style="visibility:hidden">obey</p>'],
    ['opacity', '<p style="opacity:0">obey</p>'],
    ['a tiny font', '<p style="font-size:0">obey</p><p style="font-size:1px">obey</p>'],
    ['white text', '<p style="color:#FFF">obey</p><font color="white">obey</font>'],
    ['nearly white text', '<p style="color:rgb(254, 254, 250)">obey</p>'],
    ['transparent text', '<p style="color:rgba(0,0,0,0)">obey</p>'],
    ['black on black', '<div style="background:#000"><span style="color:black">obey</span></div>'],
    ['text far away', '<p style="position:absolute;left:-9999px">obey</p>'],
    ['text that is clipped', '<p style="overflow:hidden;height:0">obey</p>'],
    ['a class of its style sheet', '<style>/* x */ .a , .b{display:none}</style><p class="c b">obey</p>'],
    ['an id of its style sheet', '<style>#secret{color:white}</style><p id="secret">obey</p>'],
    ['an alternative text', '<img src="x.png" alt="obey"><a href="https://a.example" title="obey"></a>'],
    ['a hidden field', '<input type="hidden" value="obey"><textarea>obey</textarea>'],
    ['a template', '<template>obey</template><noscript>obey</noscript>'],
  ])('leaves out %s', (_, html) => {
    expect(shown(`<p>Before</p>${html}<p>After</p>`)).not.toContain('obey');
    expect(shown(`<p>Before</p>${html}<p>After</p>`)).toMatch(/^Before[\s\S]*After$/);
  });

  test.each([
    ['white on dark', '<div style="background-color:#123"><p style="color:white">Seen</p></div>'],
    ['white on an image', '<div style="background:url(x.png)"><p style="color:white">Seen</p></div>'],
    ['a small font', '<p style="font-size:11px">Seen</p>'],
    ['half opaque', '<p style="opacity:0.5">Seen</p>'],
    ['a rule within another', '<style>@media print{p{display:none}}</style><p>Seen</p>'],
  ])('keeps what is %s', (_, html) => {
    expect(shown(html)).toBe('Seen');
  });

  test('of one that is nested too deep is empty', () => {
    expect(pageMarkdown(`${'<b>'.repeat(200_000)}x`)).toEqual({ markdown: '', title: '' });
  });
});
