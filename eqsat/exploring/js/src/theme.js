// Light or dark, as the page is: told from the colour behind the widget, whatever program shows the page.

function luminance(colour) {
  const parts = colour.match(/[\d.]+/g)?.map(Number);
  if (!parts || (parts.length > 3 && parts[3] === 0)) return undefined;
  return (0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]) / 255;
}

function isDark(element) {
  for (let here = element.parentElement; here; here = here.parentElement) {
    const found = luminance(getComputedStyle(here).backgroundColor);
    if (found !== undefined) return found < 0.5;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// Keep the attribute data-theme right until the returned function is called.
export function followTheme(element) {
  const set = () => {
    const theme = isDark(element) ? "dark" : "light";
    if (element.dataset.theme !== theme) element.dataset.theme = theme;
  };
  const observer = new MutationObserver(set);
  for (const page of [document.documentElement, document.body]) observer.observe(page, { attributes: true });
  const preference = matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", set);
  const first = requestAnimationFrame(set); // once the widget is part of the page
  set();
  return () => {
    observer.disconnect();
    preference.removeEventListener("change", set);
    cancelAnimationFrame(first);
  };
}
